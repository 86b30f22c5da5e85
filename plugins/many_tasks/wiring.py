"""The steps of a job of several tasks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.artifacts.evaluation import Blessing, Evaluation, FurtherModels
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle, Node
from components.evaluate import evaluate
from components.sources.pushed_version import PreviousVersion
from components.training.tuning import HeadSettings
from pipeline.chains import Chain, enabled_stages
from pipeline.nodes import append_name
from pipeline.pipelines import ingest_first, kept_slices, push_folder, wire_initial_model, wire_reading
from pipeline.settings.changes import list_changes
from pipeline.settings.schema import Settings
from plugins.many_tasks.export_together import export_together
from plugins.many_tasks.measure_single import measure_single
from plugins.many_tasks.push import push_together
from plugins.many_tasks.settings import Sharing, TaskTable
from plugins.many_tasks.steps import distill_together, fine_tune_together, prune_together, quantize_together


def wire_tasks(tables: Mapping[str, TaskTable], jobs: Mapping[str, Settings], settings: Settings, root: Path) -> Node:
    """The push of a job of several tasks; each has the steps of its rows and its evaluation, all share the others."""
    sharing: Sharing = getattr(settings, "sharing", None) or Sharing()
    longest = max(job.max_length for job in jobs.values())
    start = wire_initial_model(settings.model_copy(update={"max_length": longest}))
    chains, rows = {}, {}
    for name, job in jobs.items():
        read = wire_reading(job, name)
        rows[name] = ingest_first(job, read, start.vocabulary, None, name).output(TaskExamples)
        chains[name] = Chain(job, start._replace(rows=read), rows[name], 0, label=name)
    of_tasks: dict[str, Any] = {"examples": [*rows.values()], "names": tuple(rows)}
    training = {**of_tasks, "temperature": sharing.temperature}
    teacher = fine_tune_together(
        pretrained=start.model,
        heads={name: HeadSettings(job.pooling, job.contrast, job.normalize) for name, job in jobs.items()},
        shares={name: tables[name].share for name in jobs},
        class_weights={name: tables[name].class_weights for name in jobs},
        fine_tuning=settings.fine_tuning,
        **training,
    ).output(Model)
    singles = {name: chain.model() for name, chain in chains.items() if sharing.teachers == "single"}
    model, students = teacher, list[Handle[Model]]()
    if settings.student is not None:
        model = distill_together(
            teacher=teacher,
            teachers=[*singles.values()],
            shape=settings.student,
            distillation=settings.distillation,
            **training,
        ).output(Model)
        students = [model]
    if settings.pruning is not None:
        model = prune_together(student=model, pruning=settings.pruning, **training).output(Model)
    if settings.quantization is not None:
        model = quantize_together(student=model, quantization=settings.quantization, **training).output(Model)
    edge = export_together(model=model, export=settings.export, **of_tasks).output(EdgeModel)
    folder, measured = push_folder(settings, root), {}
    for name, job in jobs.items():
        further = []
        if tables[name].compare_single:
            alone = measure_single(
                examples=rows[name],
                edges=[chains[name].edge(enabled_stages(job))],
                shared=edge,
                part=name,
                metric=job.evaluation.metric,
            )
            further = [append_name(alone, name).output(FurtherModels)]
        node = evaluate(
            examples=rows[name],
            teachers=[singles.get(name, teacher)],
            students=students,
            edges=[edge],
            further=further,
            origins=kept_slices(job, chains[name].read_rows),
            checkpoint=chains[name].checkpoint,
            previous=PreviousVersion(str(root / folder)),
            thresholds=job.evaluation,
            changes=list_changes(job),
            part=name,
        )
        measured[name] = append_name(node, name)
    return push_together(
        edge=edge,
        evaluations=[node.output(Evaluation) for node in measured.values()],
        blessings=[node.output(Blessing) for node in measured.values()],
        optional=tuple(name for name in jobs if not tables[name].evaluation.required),
        checkpoint=None if settings.checkpoint is None else settings.checkpoint.origin(),
        folder=str(folder),
        name=settings.name,
        root=str(root),
        **of_tasks,
    )
