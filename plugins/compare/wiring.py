"""The pipelines of comparisons: of starts on several tasks, of the cost of a pre-training step, and of a ladder."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from components.artifacts.evaluation import Evaluation
from components.artifacts.measurements import Latency
from components.artifacts.standard import Corpus, EdgeModel, Model, Vocabulary
from components.dsl.component import Handle, Node
from components.evaluate import evaluate
from components.measure_latency import measure_latency
from keras_bert.options.training import Training
from pipeline.chains import Stage, wire_chains, wire_fine_tuning
from pipeline.nodes import append_name, append_seed
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import (
    encoder_shape,
    ingest_first,
    kept_slices,
    loss_options,
    wire_initial_model,
    wire_pretraining_rows,
    wire_reading,
    wire_rows,
    wire_start,
)
from pipeline.settings.schema import Settings, select_fields
from plugins.compare.artifacts import StepCost
from plugins.compare.measure_step import measure_step


class ComparedTask(NamedTuple):
    """The outputs of one task of a comparison: the fine-tuned model of each seed, and their scores."""

    models: list[Handle[Model]]
    evaluation: Handle[Evaluation]


class ComparedStart(NamedTuple):
    """The outputs of one variant of a comparison: the initial model, and the outputs of each task by name."""

    model: Handle[Model]
    tasks: dict[str, ComparedTask]


class RungOutputs(NamedTuple):
    """The outputs of one rung of a ladder; the model and the files are those of the first seed."""

    model: Handle[Model]
    edge: Handle[EdgeModel]
    evaluation: Handle[Evaluation]
    latency: Handle[Latency]


def cost_pipeline(
    settings: Settings, tasks: Mapping[str, Settings], *, timed: bool
) -> tuple[Pipeline, Handle[StepCost] | None]:
    """The cheap steps of a comparison, which make all rows and measure a pre-training step (None without one)."""
    if settings.corpus is None:
        start = wire_initial_model(settings)
        return Pipeline(settings.name, [start.model.node, *_rows_of_tasks(start.vocabulary, None, tasks)]), None
    data = wire_pretraining_rows(settings)
    training = select_fields(settings.pretraining, Training)
    counted = Training(batch_size=training.batch_size, accumulation=training.accumulation)
    node = measure_step(
        examples=data.rows,
        vocabulary=data.vocabulary,
        start=data.start,
        encoder=encoder_shape(settings),
        training=dataclasses.replace(training, steps=None) if timed else counted,
        timed=timed,
        **loss_options(settings),
    )
    return Pipeline(settings.name, [node, *_rows_of_tasks(data.vocabulary, data.corpus, tasks)]), node.output(StepCost)


def comparison_pipeline(settings: Settings, tasks: Mapping[str, Settings]) -> tuple[Pipeline, ComparedStart]:
    """Fine-tunes a start on each task, and measures the models; makes no students and no files.

    The tables of `tasks` that describe a start are ignored.
    """
    start = wire_initial_model(settings)
    nodes, outputs = [start.model.node], {}
    for name, task_settings in tasks.items():
        task_start, rows = wire_rows(task_settings, start, name)
        models = []
        for seed in range(task_settings.seeds):
            node = append_name(wire_fine_tuning(task_settings, task_start, rows, seed, name), name)
            models.append(append_seed(task_settings, seed, node).output(Model))
        node = evaluate(
            examples=rows,
            teachers=models,
            students=[],
            edges=[],
            origins=kept_slices(task_settings, task_start.rows),
            thresholds=task_settings.evaluation,
            baselines=False,
        )
        nodes.append(append_name(node, name))
        outputs[name] = ComparedTask(models, node.output(Evaluation))
    return Pipeline(settings.name, nodes), ComparedStart(start.model, outputs)


def ladder_pipeline(
    settings: Settings, rungs: Mapping[str, Sequence[Stage]], lengths: Sequence[int]
) -> tuple[Pipeline, dict[str, RungOutputs]]:
    """Exports and measures the files of each rung, which names its compression stages; rungs share equal nodes."""
    # No file of a rung is for a chip, of which some take no float files.
    settings = settings.model_copy(update={"export": dataclasses.replace(settings.export, accelerators=())})
    start, rows = wire_start(settings)
    chains = wire_chains(settings, start, rows, name_by_stage=True)
    nodes, outputs = [], {}
    for name, stages in rungs.items():
        edges = [chain.edge(stages) for chain in chains]
        measured = evaluate(
            examples=rows,
            teachers=[teacher for chain in chains for teacher in chain.teachers()],
            students=[],
            edges=edges,
            origins=kept_slices(settings, start.rows),
            thresholds=settings.evaluation,
            baselines=False,
        )
        timed = measure_latency(edge=edges[0], lengths=tuple(lengths))
        nodes += [append_name(measured, name), append_name(timed, name)]
        evaluation, latency = measured.output(Evaluation), timed.output(Latency)
        outputs[name] = RungOutputs(chains[0].model(stages), edges[0], evaluation, latency)
    return Pipeline(settings.name, nodes), outputs


def _rows_of_tasks(
    vocabulary: Handle[Vocabulary], corpus: Handle[Corpus] | None, tasks: Mapping[str, Settings]
) -> list[Node]:
    """The rows of each task, tokenized with the whole vocabulary."""
    return [
        ingest_first(settings, wire_reading(settings, name), vocabulary, corpus, name)
        for name, settings in tasks.items()
    ]
