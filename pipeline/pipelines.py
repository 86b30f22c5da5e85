"""The wiring: builds pipelines of the steps that the settings ask for."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.measurements import Latency, StepCost
from components.artifacts.pushed import Pushed
from components.artifacts.standard import (
    Corpus,
    EdgeModel,
    LabelledRows,
    Model,
    PretrainingExamples,
    RowOrigins,
    TaskExamples,
    Vocabulary,
)
from components.build_vocabulary import build_vocabulary
from components.dsl.artifact import Artifact
from components.dsl.component import Handle, Node
from components.evaluate import evaluate
from components.fit_vocabulary import fit_vocabulary
from components.import_checkpoint import import_checkpoint
from components.ingest_corpus import ingest_corpus
from components.ingest_examples import ingest_examples
from components.mask_examples import mask_examples
from components.measure_latency import measure_latency
from components.measure_step import measure_step
from components.mine_hard_negatives import mine_hard_negatives
from components.pretrain import pretrain
from components.push import push
from components.read_examples import read_examples
from components.remove_leaks import remove_leaks
from components.score_with_reranker import score_with_reranker
from components.sources.docstring_task import DocstringTask
from components.sources.pushed_version import PreviousVersion
from keras_bert.core.config import EncoderShape
from keras_bert.options.pretraining import PretrainingRows
from keras_bert.options.training import Training
from pipeline.capabilities import enabled_capabilities, kept_columns
from pipeline.chains import (
    Chain,
    Stage,
    enabled_stages,
    learns_from_column,
    wire_chains,
    wire_fine_tuning,
    with_student,
)
from pipeline.nodes import Start, append_name, append_seed
from pipeline.orchestrator.graph import Pipeline
from pipeline.settings.changes import list_changes
from pipeline.settings.schema import Settings, select_fields


class PretrainingData(NamedTuple):
    """The inputs of pre-training.

    Attributes:
        start: the model that pre-training continues from; None for random weights.
        examples: the labelled rows that are removed from the corpus; None where none are.
    """

    rows: Handle[PretrainingExamples]
    vocabulary: Handle[Vocabulary]
    start: Handle[Model] | None
    corpus: Handle[Corpus]
    examples: Handle[LabelledRows] | None


class PushOutputs(NamedTuple):
    """The last outputs of a job: scores on test rows, and the pushed version."""

    evaluation: Handle[Evaluation]
    pushed: Handle[Pushed]


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


def build_pipeline(settings: Settings, root: Path) -> Pipeline:
    """The pipeline of a job: from its start to pushed files, or to a pre-trained model if it has no examples."""
    if settings.examples is None:
        return Pipeline(settings.name, [_start(settings).model.node])
    start, rows = wire_start(settings)
    chains = wire_chains(settings, start, rows)
    teachers = [] if learns_from_column(settings) else [teacher for chain in chains for teacher in chain.teachers()]
    outputs = add_evaluation_and_push(settings, root, rows, teachers, chains)
    return Pipeline(settings.name, [outputs.pushed.node, *wire_capabilities(settings, start, rows)])


def wire_capabilities(settings: Settings, start: Start, examples: Handle[TaskExamples]) -> list[Node]:
    """The last steps of each optional capability that the job enables by a table."""

    def fine_tune(some_rows: Handle[TaskExamples], name: str) -> Handle[Model]:
        return append_name(wire_fine_tuning(settings, start, some_rows, 0, name), name).output(Model)

    assert start.rows is not None
    return [
        node
        for capability, table in enabled_capabilities(settings)
        for node in capability.wire(table, settings, start.rows, examples, fine_tune)
    ]


def add_evaluation_and_push(
    settings: Settings,
    root: Path,
    rows: Handle[TaskExamples],
    teachers: Sequence[Handle[Model]],
    chains: Sequence[Chain],
) -> PushOutputs:
    """Wires the evaluation of chains on test rows, and the push."""
    stages = enabled_stages(settings)
    edges = [chain.edge(stages) for chain in chains]
    root = root.absolute()
    # The folder of all versions is relative to the root if it lies in it, as a root may be moved.
    folder = settings.push.path() or root / "pushed" / settings.name
    folder = folder.relative_to(root) if folder.is_relative_to(root) else folder
    measured = evaluate(
        examples=rows,
        teachers=[*teachers],
        students=[chain.model(("student",)) for chain in chains if "student" in stages],
        edges=edges,
        origins=_kept_slices(settings, chains[0].read_rows),
        checkpoint=chains[0].checkpoint,
        previous=PreviousVersion(str(root / folder)),
        thresholds=settings.evaluation,
        changes=list_changes(settings),
    )
    evaluation = measured.output(Evaluation)
    pushed = push(
        edges=edges,
        evaluation=evaluation,
        blessing=measured.output(Blessing),
        examples=rows,
        corpus=chains[0].corpus,
        page=settings.page,
        checkpoint=None if settings.checkpoint is None else settings.checkpoint.origin(),
        folder=str(folder),
        name=settings.name,
        root=str(root),
    )
    return PushOutputs(evaluation, pushed.output(Pushed))


def _kept_slices(settings: Settings, rows: Handle[LabelledRows] | None) -> Handle[RowOrigins] | None:
    """The origins that keep the `slice_columns`; None without such columns, as no cache key needs them then."""
    return rows.node.output(RowOrigins) if rows is not None and settings.evaluation.slice_columns else None


def cost_pipeline(
    settings: Settings, tasks: Mapping[str, Settings], *, timed: bool
) -> tuple[Pipeline, Handle[StepCost] | None]:
    """The cheap steps of a comparison, which make all rows and measure a pre-training step (None without one)."""
    if settings.corpus is None:
        start = _start(settings)
        return Pipeline(settings.name, [start.model.node, *_rows_of_tasks(start.vocabulary, None, tasks)]), None
    data = _pretraining_data(settings)
    training = select_fields(settings.pretraining, Training)
    counted = Training(batch_size=training.batch_size, accumulation=training.accumulation)
    node = measure_step(
        examples=data.rows,
        vocabulary=data.vocabulary,
        start=data.start,
        encoder=_shape(settings),
        training=dataclasses.replace(training, steps=None) if timed else counted,
        timed=timed,
        **_objective(settings),
    )
    return Pipeline(settings.name, [node, *_rows_of_tasks(data.vocabulary, data.corpus, tasks)]), node.output(StepCost)


def comparison_pipeline(settings: Settings, tasks: Mapping[str, Settings]) -> tuple[Pipeline, ComparedStart]:
    """Fine-tunes a start on each task, and measures the models; makes no students and no files.

    The tables of `tasks` that describe a start are ignored.
    """
    start = _start(settings)
    nodes, outputs = [start.model.node], {}
    for name, task_settings in tasks.items():
        task_start, rows = _start_and_rows(task_settings, start, name)
        models = []
        for seed in range(task_settings.seeds):
            node = append_name(wire_fine_tuning(task_settings, task_start, rows, seed, name), name)
            models.append(append_seed(task_settings, seed, node).output(Model))
        node = evaluate(
            examples=rows,
            teachers=models,
            students=[],
            edges=[],
            origins=_kept_slices(task_settings, task_start.rows),
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
            origins=_kept_slices(settings, start.rows),
            thresholds=settings.evaluation,
            baselines=False,
        )
        timed = measure_latency(edge=edges[0], lengths=tuple(lengths))
        nodes += [append_name(measured, name), append_name(timed, name)]
        evaluation, latency = measured.output(Evaluation), timed.output(Latency)
        outputs[name] = RungOutputs(chains[0].model(stages), edges[0], evaluation, latency)
    return Pipeline(settings.name, nodes), outputs


def pipeline_of(name: str, handles: Sequence[Handle[Artifact]]) -> Pipeline:
    """The pipeline that makes the outputs `handles`."""
    return Pipeline(name, list({id(handle.node): handle.node for handle in handles}.values()))


def wire_start(settings: Settings) -> tuple[Start, Handle[TaskExamples]]:
    """The initial model of fine-tuning with its vocabulary, and the examples as rows."""
    return _start_and_rows(settings, _start(settings))


def ingest_rows(
    settings: Settings,
    rows: Handle[LabelledRows],
    vocabulary: Handle[Vocabulary],
    corpus: Handle[Corpus] | None = None,
) -> Node:
    """The step that tokenizes a job's examples with a vocabulary."""
    # The built-in rows come from the same files as the built-in corpus. Their splits are made of whole files, so the
    # corpus is not searched for them.
    return ingest_examples(
        vocabulary=vocabulary,
        rows=rows,
        max_length=settings.max_length,
        stride=settings.stride,
        max_query_length=settings.max_query_length,
        prompts=settings.prompts(),
        corpus=None if isinstance(settings.examples, DocstringTask) else corpus,
        beam=settings.beam,
    )


def _read_examples(settings: Settings, task: str = "") -> Handle[LabelledRows]:
    """The step that reads a job's examples."""
    unlabelled = settings.unlabelled
    node = read_examples(
        source=settings.examples,
        unlabelled=unlabelled if unlabelled is not None and unlabelled.has_teacher_answers else None,
        kept=kept_columns(settings),
    )
    return append_name(node, task).output(LabelledRows)


def _rows_of_tasks(
    vocabulary: Handle[Vocabulary], corpus: Handle[Corpus] | None, tasks: Mapping[str, Settings]
) -> list[Node]:
    """The rows of each task, tokenized with the whole vocabulary."""
    return [
        _ingest_first(settings, _read_examples(settings, name), vocabulary, corpus, name)
        for name, settings in tasks.items()
    ]


def _ingest_first(
    settings: Settings,
    rows: Handle[LabelledRows],
    vocabulary: Handle[Vocabulary],
    corpus: Handle[Corpus] | None,
    task: str,
) -> Node:
    """The rows in the whole vocabulary; if rows in a reduced one follow, only they are searched for in the corpus."""
    node = ingest_rows(settings, rows, vocabulary, corpus if settings.fitted_vocabulary is None else None)
    return append_name(node, _whole_suffix(settings), task)


def _whole_suffix(settings: Settings) -> str:
    """The suffix of the node of rows in the whole vocabulary: needed if rows in a reduced vocabulary follow."""
    return "" if settings.fitted_vocabulary is None else "whole"


def _start(settings: Settings) -> Start:
    """The imported checkpoint, or the model that is pre-trained on the corpus."""
    if settings.corpus is None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
        return Start(imported.output(Model), imported.output(Vocabulary))
    data = _pretraining_data(settings)
    trained = pretrain(
        examples=data.rows,
        vocabulary=data.vocabulary,
        start=data.start,
        encoder=_shape(settings),
        training=select_fields(settings.pretraining, Training),
        short_steps=settings.pretraining_rows.short_steps,
        validations=settings.pretraining.validations,
        **_objective(settings),
    )
    return Start(trained.output(Model), data.vocabulary, data.corpus, rows=data.examples)


def _pretraining_data(settings: Settings) -> PretrainingData:
    """The corpus as masked rows, in the checkpoint's vocabulary or in one that is learnt from the corpus."""
    imported = None
    if settings.checkpoint is not None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
    corpus = ingest_corpus(source=settings.corpus, cleaning=settings.cleaning, beam=settings.beam).output(Corpus)
    source, examples = settings.examples, None
    if source is not None and "drop" in (source.overlap, source.near_overlap):
        examples = _read_examples(settings)
        corpus = remove_leaks(corpus=corpus, rows=examples, beam=settings.beam).output(Corpus)
    if imported is None:
        table = settings.vocabulary
        vocabulary = build_vocabulary(
            corpus=corpus, kind=table.kind, size=table.size, lowercase=table.lowercase, beam=settings.beam
        ).output(Vocabulary)
    else:
        vocabulary = imported.output(Vocabulary)
    masked = mask_examples(
        corpus=corpus,
        vocabulary=vocabulary,
        masking=settings.masking,
        rows=select_fields(settings.pretraining_rows, PretrainingRows),
        max_length=settings.max_length,
        beam=settings.beam,
    )
    model = None if imported is None else imported.output(Model)
    return PretrainingData(masked.output(PretrainingExamples), vocabulary, model, corpus, examples)


def _objective(settings: Settings) -> dict[str, Any]:
    """The arguments of `pretrain` and `measure_step` that say which losses are minimized."""
    table = settings.pretraining
    generator = settings.generator if table.objective == "replaced_tokens" else None
    return {"generator": generator, "span_boundary": table.span_boundary, "mask_decoder": table.mask_decoder}


def _shape(settings: Settings) -> EncoderShape | None:
    """The shape of an encoder with random weights; None if there is a checkpoint."""
    return None if settings.checkpoint is not None else select_fields(settings.encoder, EncoderShape)


def _start_and_rows(settings: Settings, start: Start, task: str = "") -> tuple[Start, Handle[TaskExamples]]:
    """The start and its rows, with a reduced vocabulary and a general student where the settings ask for them."""
    read = start.rows if start.rows is not None and not task else _read_examples(settings, task)
    start = start._replace(rows=read)
    rows = _ingest_first(settings, read, start.vocabulary, start.corpus, task).output(TaskExamples)
    table = settings.fitted_vocabulary
    if table is None:
        return with_student(settings, start, task), _with_scores(settings, start, rows, task)
    # Other tokens than those of the whole vocabulary: no token of one stands for a token of the other.
    node = fit_vocabulary(pretrained=start.model, examples=rows, size=table.size, min_count=table.min_count)
    fitted = append_name(node, task)
    reduced = start._replace(model=fitted.output(Model), vocabulary=fitted.output(Vocabulary))
    again = append_name(ingest_rows(settings, read, reduced.vocabulary, start.corpus), task)
    rows = _with_scores(settings, reduced, again.output(TaskExamples), task)
    return with_student(settings, reduced, task), rows


def _with_scores(settings: Settings, start: Start, rows: Handle[TaskExamples], task: str) -> Handle[TaskExamples]:
    """The rows with mined negatives, which all seeds share, and with the scores of a re-ranker, as settings ask."""
    if settings.hard_negatives is not None:
        miner = start.model
        if settings.hard_negatives.miner == "fine_tuned":
            # The re-ranker scores rows after negatives are mined: the miner has no answers to learn from.
            unscored = settings.model_copy(update={"reranker": None})
            miner = append_name(wire_fine_tuning(unscored, start, rows, 0), "miner", task).output(Model)
        mined = mine_hard_negatives(
            model=miner, examples=rows, pooling=settings.pooling, hard_negatives=settings.hard_negatives
        )
        rows = append_name(mined, task).output(TaskExamples)
    if settings.reranker is None:
        return rows
    scale = {"scale": settings.contrast.scale} if settings.contrast else {}
    node = score_with_reranker(reranker=settings.reranker, vocabulary=start.vocabulary, examples=rows, **scale)
    return append_name(node, task).output(TaskExamples)
