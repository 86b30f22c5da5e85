"""The wiring: builds pipelines of the steps that the settings ask for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import Blessing, Evaluation, FurtherModels
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
from keras_bert.options.training import Contrast, Training
from pipeline.capabilities import enabled_capabilities, kept_columns
from pipeline.chains import Chain, enabled_stages, learns_from_column, wire_chains, wire_fine_tuning, with_student
from pipeline.nodes import TuningInputs, append_name
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


def build_pipeline(settings: Settings, root: Path) -> Pipeline:
    """The pipeline of a job: from its start to pushed files, or to a pre-trained model if it has no examples."""
    for capability, table in enabled_capabilities(settings):
        if jobs := capability.split_job(table, settings):
            return Pipeline(settings.name, capability.wire_job(table, jobs, settings, root))
    if settings.examples is None:
        return Pipeline(settings.name, [wire_initial_model(settings).model.node])
    start, rows = wire_start(settings)
    chains = wire_chains(settings, start, rows)
    teachers = [] if learns_from_column(settings) else [teacher for chain in chains for teacher in chain.teachers()]
    outputs = add_evaluation_and_push(settings, root, rows, teachers, chains)
    return Pipeline(settings.name, [outputs.pushed.node, *wire_capabilities(settings, start, rows)])


def wire_capabilities(settings: Settings, start: TuningInputs, examples: Handle[TaskExamples]) -> list[Node]:
    """The last steps of each optional capability that the job enables by a table."""

    def fine_tune(some_rows: Handle[TaskExamples], name: str) -> Handle[Model]:
        return append_name(wire_fine_tuning(settings, start, some_rows, 0, name), name).output(Model)

    assert start.rows is not None
    return [
        node
        for capability, table in enabled_capabilities(settings)
        for node in capability.wire(table, settings, start.rows, examples, fine_tune)
    ]


def add_rows(
    settings: Settings,
    rows: Handle[TaskExamples],
    teachers: Sequence[Handle[Model]],
    students: Sequence[Handle[Model]],
    edges: Sequence[Handle[EdgeModel]],
) -> list[Handle[FurtherModels]]:
    """The rows that the capabilities of a job add to its table of models."""
    enabled = enabled_capabilities(settings)
    return [row for one, table in enabled for row in one.add_rows(table, settings, rows, teachers, students, edges)]


def add_evaluation_and_push(
    settings: Settings,
    root: Path,
    rows: Handle[TaskExamples],
    teachers: Sequence[Handle[Model]],
    chains: Sequence[Chain],
    checkpoint: Handle[Model] | None = None,
) -> PushOutputs:
    """Wires the evaluation of chains on test rows, and the push; `checkpoint` is that of the chains by default."""
    stages = enabled_stages(settings)
    edges = [chain.edge(stages) for chain in chains]
    students = [chain.model(("student",)) for chain in chains if "student" in stages]
    root = root.absolute()
    folder = push_folder(settings, root)
    measured = evaluate(
        examples=rows,
        teachers=[*teachers],
        students=students,
        edges=edges,
        further=add_rows(settings, rows, teachers, students, edges),
        origins=kept_slices(settings, chains[0].read_rows),
        checkpoint=chains[0].checkpoint if checkpoint is None else checkpoint,
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


def push_folder(settings: Settings, root: Path) -> Path:
    """The folder of all versions, relative to the root if it lies in it, as a root may be moved."""
    folder = settings.push.path() or root / "pushed" / settings.name
    return folder.relative_to(root) if folder.is_relative_to(root) else folder


def kept_slices(settings: Settings, rows: Handle[LabelledRows] | None) -> Handle[RowOrigins] | None:
    """The origins that keep the `slice_columns`; None without such columns, as no cache key needs them then."""
    return rows.node.output(RowOrigins) if rows is not None and settings.evaluation.slice_columns else None


def pipeline_of(name: str, handles: Sequence[Handle[Artifact]]) -> Pipeline:
    """The pipeline that makes the outputs `handles`."""
    return Pipeline(name, list({id(handle.node): handle.node for handle in handles}.values()))


def wire_start(settings: Settings) -> tuple[TuningInputs, Handle[TaskExamples]]:
    """The initial model of fine-tuning with its vocabulary, and the examples as rows."""
    return wire_rows(settings, wire_initial_model(settings))


def ingest_rows(
    settings: Settings, rows: Handle[LabelledRows], vocabulary: Handle[Vocabulary], corpus: Handle[Corpus] | None = None
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


def wire_reading(settings: Settings, task: str = "") -> Handle[LabelledRows]:
    """The step that reads a job's examples."""
    unlabelled = settings.unlabelled
    node = read_examples(
        source=settings.examples,
        unlabelled=unlabelled if unlabelled is not None and unlabelled.has_teacher_answers else None,
        kept=kept_columns(settings),
    )
    return append_name(node, task).output(LabelledRows)


def ingest_first(
    settings: Settings,
    rows: Handle[LabelledRows],
    vocabulary: Handle[Vocabulary],
    corpus: Handle[Corpus] | None,
    task: str,
) -> Node:
    """The rows in the whole vocabulary; if rows in a reduced one follow, only they are searched for in the corpus."""
    is_last = settings.fitted_vocabulary is None
    node = ingest_rows(settings, rows, vocabulary, corpus if is_last else None)
    return append_name(node, "" if is_last else "whole", task)


def wire_initial_model(settings: Settings) -> TuningInputs:
    """The imported checkpoint, or the model that is pre-trained on the corpus."""
    if settings.corpus is None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
        return TuningInputs(imported.output(Model), imported.output(Vocabulary))
    data = wire_pretraining_rows(settings)
    trained = pretrain(
        examples=data.rows,
        vocabulary=data.vocabulary,
        start=data.start,
        encoder=encoder_shape(settings),
        training=select_fields(settings.pretraining, Training),
        short_steps=settings.pretraining_rows.short_steps,
        validations=settings.pretraining.validations,
        **loss_options(settings),
    )
    return TuningInputs(trained.output(Model), data.vocabulary, data.corpus, rows=data.examples)


def wire_pretraining_rows(settings: Settings) -> PretrainingData:
    """The corpus as masked rows, in the checkpoint's vocabulary or in one that is learnt from the corpus."""
    imported = None
    if settings.checkpoint is not None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
    corpus = ingest_corpus(source=settings.corpus, cleaning=settings.cleaning, beam=settings.beam).output(Corpus)
    source, examples = settings.examples, None
    if source is not None and "drop" in (source.overlap, source.near_overlap):
        examples = wire_reading(settings)
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


def loss_options(settings: Settings) -> dict[str, Any]:
    """The arguments of `pretrain` that say which losses are minimized."""
    table = settings.pretraining
    generator = settings.generator if table.objective == "replaced_tokens" else None
    return {"generator": generator, "span_boundary": table.span_boundary, "mask_decoder": table.mask_decoder}


def encoder_shape(settings: Settings) -> EncoderShape | None:
    """The shape of an encoder with random weights; None if there is a checkpoint."""
    return None if settings.checkpoint is not None else select_fields(settings.encoder, EncoderShape)


def wire_rows(settings: Settings, start: TuningInputs, task: str = "") -> tuple[TuningInputs, Handle[TaskExamples]]:
    """The start and its rows, with a reduced vocabulary and a general student where the settings ask for them."""
    read = start.rows if start.rows is not None and not task else wire_reading(settings, task)
    start = start._replace(rows=read)
    rows = ingest_first(settings, read, start.vocabulary, start.corpus, task).output(TaskExamples)
    table = settings.fitted_vocabulary
    if table is None:
        return _complete(settings, start, _with_scores(settings, start, rows, task), task)
    # Other tokens than those of the whole vocabulary: no token of one stands for a token of the other.
    node = fit_vocabulary(pretrained=start.model, examples=rows, size=table.size, min_count=table.min_count)
    fitted = append_name(node, task)
    reduced = start._replace(model=fitted.output(Model), vocabulary=fitted.output(Vocabulary))
    again = append_name(ingest_rows(settings, read, reduced.vocabulary, start.corpus), task)
    return _complete(settings, reduced, _with_scores(settings, reduced, again.output(TaskExamples), task), task)


def _complete(
    settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], task: str
) -> tuple[TuningInputs, Handle[TaskExamples]]:
    """The start with a general student, and with what capabilities add to it, as settings ask."""
    start = with_student(settings, start, task)
    for capability, own_table in enabled_capabilities(settings):
        start = capability.wire_start(own_table, settings, start, rows, task)
    return start, rows


def _with_scores(
    settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], task: str
) -> Handle[TaskExamples]:
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
    contrast = settings.contrast or Contrast()
    # The default suits cosines; a re-ranker of dot products, which have no bound, has another one.
    scale = {} if contrast.scale == Contrast().scale else {"scale": contrast.scale}
    node = score_with_reranker(reranker=settings.reranker, vocabulary=start.vocabulary, examples=rows, **scale)
    return append_name(node, task).output(TaskExamples)
