"""The steps of a job of several tasks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import Blessing, Evaluation, FurtherModels
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle, Node
from components.evaluate import evaluate
from components.sources.pushed_version import PreviousVersion
from components.training.tuning import HeadSettings
from pipeline.chains import Chain, enabled_stages
from pipeline.nodes import TuningInputs, append_name, append_seed, seeded
from pipeline.pipelines import ingest_first, kept_slices, push_folder, wire_initial_model, wire_reading
from pipeline.settings.changes import list_changes
from pipeline.settings.schema import Settings
from plugins.many_tasks.export_together import export_together
from plugins.many_tasks.keep_seed import keep_seed
from plugins.many_tasks.measure_single import measure_single
from plugins.many_tasks.push import push_together
from plugins.many_tasks.settings import Sharing, TaskTable
from plugins.many_tasks.steps import distill_together, fine_tune_together, prune_together, quantize_together


class SharedModels(NamedTuple):
    """What one seed trains for all tasks, and the steps of each task alone, which run where something reads them."""

    chains: dict[str, Chain]
    singles: dict[str, Handle[Model]]
    teacher: Handle[Model]
    student: Handle[Model] | None
    edge: Handle[EdgeModel]


def wire_tasks(tables: Mapping[str, TaskTable], jobs: Mapping[str, Settings], settings: Settings, root: Path) -> Node:
    """The push of a job of several tasks; each has the steps of its rows and its evaluation, all share the others."""
    longest = max(job.max_length for job in jobs.values())
    start = wire_initial_model(settings.model_copy(update={"max_length": longest}))
    read = {name: wire_reading(job, name) for name, job in jobs.items()}
    rows = {
        name: ingest_first(job, read[name], start.vocabulary, None, name).output(TaskExamples)
        for name, job in jobs.items()
    }
    starts = {name: start._replace(rows=read[name]) for name in jobs}
    seeds = [_wire_seed(tables, jobs, settings, starts, rows, seed) for seed in range(settings.seeds)]
    edges, first = [shared.edge for shared in seeds], seeds[0]
    of_tasks: dict[str, Any] = {"examples": [*rows.values()], "names": tuple(rows)}
    kept = []
    if settings.seeds > 1:
        metrics = tuple(job.evaluation.metric for job in jobs.values())
        kept = [keep_seed(edges=edges, metrics=metrics, **of_tasks).output(FurtherModels)]
    folder, measured = push_folder(settings, root), {}
    for name, job in jobs.items():
        further = [*kept]
        if tables[name].compare_single:
            alone = measure_single(
                examples=rows[name],
                edges=[first.chains[name].edge(enabled_stages(job))],
                shared=first.edge,
                part=name,
                metric=job.evaluation.metric,
                seeds=settings.seeds,
            )
            further.append(append_name(alone, name).output(FurtherModels))
        node = evaluate(
            examples=rows[name],
            teachers=[shared.singles.get(name, shared.teacher) for shared in seeds],
            students=[shared.student for shared in seeds if shared.student is not None],
            edges=edges,
            further=further,
            origins=kept_slices(job, first.chains[name].read_rows),
            checkpoint=first.chains[name].checkpoint,
            previous=PreviousVersion(str(root / folder)),
            thresholds=job.evaluation,
            changes=list_changes(job),
            part=name,
        )
        measured[name] = append_name(node, name)
    return push_together(
        edges=edges,
        evaluations=[node.output(Evaluation) for node in measured.values()],
        blessings=[node.output(Blessing) for node in measured.values()],
        optional=tuple(name for name in jobs if not tables[name].evaluation.required),
        checkpoint=None if settings.checkpoint is None else settings.checkpoint.origin(),
        folder=str(folder),
        name=settings.name,
        root=str(root),
        **of_tasks,
    )


def _wire_seed(
    tables: Mapping[str, TaskTable],
    jobs: Mapping[str, Settings],
    settings: Settings,
    starts: Mapping[str, TuningInputs],
    rows: Mapping[str, Handle[TaskExamples]],
    seed: int,
) -> SharedModels:
    """The trainings of all tasks with one seed."""
    sharing: Sharing = getattr(settings, "sharing", None) or Sharing()
    of_tasks: dict[str, Any] = {"examples": [*rows.values()], "names": tuple(rows)}
    training = {**of_tasks, "temperature": sharing.temperature}

    def model_of(node: Node) -> Handle[Model]:
        return append_seed(settings, seed, node).output(Model)

    chains = {name: Chain(job, starts[name], rows[name], seed, label=name) for name, job in jobs.items()}
    teacher = model_of(
        fine_tune_together(
            pretrained=next(iter(starts.values())).model,
            heads={name: HeadSettings(job.pooling, job.contrast, job.normalize) for name, job in jobs.items()},
            shares={name: tables[name].share for name in jobs},
            class_weights={name: tables[name].class_weights for name in jobs},
            fine_tuning=seeded(settings.fine_tuning, seed),
            **training,
        )
    )
    singles = {name: chain.model() for name, chain in chains.items() if sharing.teachers == "single"}
    model, student = teacher, None
    if settings.student is not None:
        model = student = model_of(
            distill_together(
                teacher=teacher,
                teachers=[*singles.values()],
                shape=settings.student,
                distillation=seeded(settings.distillation, seed),
                **training,
            )
        )
    if settings.pruning is not None:
        model = model_of(prune_together(student=model, pruning=seeded(settings.pruning, seed), **training))
    if settings.quantization is not None:
        quantization = seeded(settings.quantization, seed)
        model = model_of(quantize_together(student=model, quantization=quantization, **training))
    export = append_seed(settings, seed, export_together(model=model, export=settings.export, **of_tasks))
    return SharedModels(chains, singles, teacher, student, export.output(EdgeModel))
