"""What tables of the settings need of one another, and of the data: checked before anything starts."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.examples.overlap import check_overlap, count_overlap, count_rows, describe_overlap, resolve_leaks
from components.examples.registry import TASK_ROWS, check_unlabelled
from components.examples.source_rows import Splits, complete_splits
from components.examples.splits import describe_few_rows
from components.scoring.base import check_test_rows, choose_metric
from components.scoring.calibration import check_precision
from components.scoring.registry import TASK_SCORING
from components.scoring.slices import check_column_values
from components.sources.docstring_task import DocstringTask
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.text import TextSource, read_lines
from components.training.tuning import check_class_weights
from keras_bert.core.checks import FieldError
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.options.compression import OF_EMBEDDINGS, StateImitation
from keras_bert.options.pretraining import AT_MOST
from pipeline.capabilities import CAPABILITIES, enabled_capabilities
from pipeline.settings.contrast import check_contrast, check_dimensions
from pipeline.settings.graphs import check_float_layers, check_shapes, graph_of
from pipeline.settings.page import check_page, check_search_texts
from pipeline.settings.runtimes import check_models_of_runtimes, check_runtimes
from pipeline.settings.schema import AnswersSettings, QuantizationSettings, Settings

# Table or key -> the table without which it would be read by no step.
_NEEDS = {
    "beam": "corpus",
    "cleaning": "corpus",
    "masking": "corpus",
    "pretraining_rows": "corpus",
    "pretraining": "corpus",
    "generator": "corpus",
    "vocabulary": "corpus",
    "encoder": "corpus",
    "stride": "examples",
    "max_query_length": "examples",
    "pooling": "examples",
    "normalize": "examples",
    "fine_tuning": "examples",
    "contrast": "examples",
    "hard_negatives": "examples",
    "adaptation": "examples",
    "fitted_vocabulary": "examples",
    "student": "examples",
    "general_distillation": "student",
    "distillation": "student",
    "teacher_labels": "student",
    "unlabelled": "student",
    "pruning": "examples",
    "quantization": "examples",
    "probes": "examples",
    "export": "examples",
    "evaluation": "examples",
    "tune": "examples",
    "push": "examples",
    "page": "examples",
    "seeds": "examples",
}
_NOT_BESIDE_A_CHECKPOINT = ("vocabulary", "encoder")
_OF_QUESTIONS = ("stride", "max_query_length")


def check_tables(settings: Settings) -> None:
    """Raises InputError where a table is missing, or one is there that no step would read."""
    given = settings.model_fields_set
    of_examples = dict.fromkeys((capability.name for capability in CAPABILITIES), "examples")
    for name, needed in {**_NEEDS, **of_examples}.items():
        if name in given and getattr(settings, needed) is None:
            raise InputError(f"{name} must be left out without [{needed}], as no step would read it")
    if settings.checkpoint is not None:
        for name in _NOT_BESIDE_A_CHECKPOINT:
            if name in given:
                raise InputError(f"{name} must be left out with [checkpoint], which has its own")
    elif settings.corpus is None:
        raise InputError("there must be a start: a [corpus] to pre-train on, a [checkpoint], or both")
    elif settings.encoder is None:
        raise InputError("encoder must be set without [checkpoint]: the shape of the encoder to pre-train")
    elif settings.pooling == "cls" and settings.pretraining_rows.objective == "none":
        rule = "be one of pairs where pooling is 'cls', as these train the pooler"
        raise InputError(f"pretraining_rows.objective must {rule}, got 'none'")
    if settings.corpus is None and settings.examples is None:
        raise InputError("there must be something to train on: a [corpus], [examples], or both")
    task = None if settings.examples is None else settings.examples.task
    for name in _OF_QUESTIONS:
        if name in given and task != "question_answering":
            raise InputError(f"{name} is only allowed for question_answering, got it for {task}")
    if settings.quantization is not None and "tflite" not in settings.export.runtimes:
        rule = "be left out where export.runtimes has no 'tflite', as no other runtime runs its files"
        raise InputError(f"quantization must {rule}, got {list(settings.export.runtimes)}")
    check_runtimes(settings)
    _check_post_training(settings)
    _check_objective(settings)
    _check_short_length(settings)
    if settings.encoder is not None:
        check_shapes(settings)
    _check_last_seed(settings)
    if settings.unlabelled is not None and task is not None:
        check_unlabelled(task)
    if settings.normalize is not None and task not in ("embedding", "retrieval"):
        raise InputError(f"normalize is only allowed for embedding and retrieval, got it for {task}")
    for name in OF_EMBEDDINGS:
        weight = getattr(settings.distillation, name)
        if weight and task not in ("embedding", "retrieval"):
            raise InputError(f"distillation.{name} must be 0 except for embedding and retrieval, got {weight}")
    for capability, table in enabled_capabilities(settings):
        capability.check_tables(table, settings)
    check_contrast(settings)
    check_page(settings)


def check_data(settings: Settings) -> list[str]:
    """Reads all of the user's data.

    Returns:
        What the user should know of the labelled rows and of the page before anything trains, a line each.

    Raises:
        InputError: some is missing or cannot be used, the student wants layers that the teacher does not have, the
            task has no such metric, splits share rows that may share none, a class weight is of no label, or what is
            pushed has no place to go.
    """
    if settings.checkpoint is not None:
        settings.checkpoint.check()
        check_shapes(settings)
    _check_positions(settings)
    _check_layers(settings)
    _check_imitation(settings)
    check_float_layers(settings)
    check_models_of_runtimes(settings)
    _check_generator_size(settings)
    if settings.corpus is not None:
        settings.corpus.check()
    for name in ("general_distillation", "unlabelled", "probes", "page"):
        _check_source(name, getattr(settings, name))
    warnings = _check_examples(settings)
    _check_push_folder(settings.push.path())
    return warnings


def _check_source(name: str, source: TextSource | SentenceSource | None) -> None:
    """Checks the texts of a table other than `[corpus]` and `[examples]`; errors begin with the table's name."""
    try:
        if source is not None:
            source.check()
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _check_positions(settings: Settings) -> None:
    most = settings.checkpoint.size("max_length") if settings.checkpoint else None
    if most is not None and settings.max_length > most:
        raise InputError(f"max_length must be at most {most}, the checkpoint's positions, got {settings.max_length}")


def _check_layers(settings: Settings) -> None:
    student = settings.student
    layers = settings.checkpoint.num_layers() if settings.checkpoint else getattr(settings.encoder, "num_layers", None)
    if student is None or layers is None:
        return
    chosen: Sequence[int] = student.layers or ()
    if any(layer >= layers for layer in chosen):
        raise InputError(f"student.layers must be from 0 to {layers - 1}, the teacher's, got {list(chosen)}")
    if student.num_layers is not None and student.num_layers > layers and student.hidden_size is None:
        raise InputError(f"student.num_layers must be at most {layers}, the teacher's, got {student.num_layers}")


def _check_imitation(settings: Settings) -> None:
    """Checks imitation by the sizes of teacher and student that are known before weights are read."""
    student = settings.student
    if student is None:
        return
    layers, heads, width, _ = graph_of(settings)
    for name in ("general_distillation", "distillation"):
        imitation: StateImitation | None = getattr(settings, name)
        try:
            if imitation is not None and layers is not None:
                imitation.check_layers(len(student.layers or ()) or student.num_layers or layers, layers)
            if imitation is not None and heads is not None:
                imitation.check_heads(student.num_heads or heads, heads)
            if imitation is not None and heads is not None and width is not None and student.hidden_size is not None:
                imitation.check_widths(student.hidden_size, width, heads)
        except FieldError as error:
            raise InputError(error.describe(name)) from None


def _check_post_training(settings: Settings) -> None:
    """Refuses keys of training; a key with its default value passes, as it looks like a key that is left out."""
    quantization, usual = settings.quantization, QuantizationSettings()
    for field in dataclasses.fields(AnswersSettings) if quantization is not None and quantization.post_training else ():
        value = getattr(quantization, field.name)
        if value != getattr(usual, field.name):
            rule = "be left out where post_training is true, as nothing trains"
            raise InputError(f"quantization.{field.name} must {rule}, got {value!r}")


def _check_examples(settings: Settings) -> list[str]:
    """Checks the labelled rows, and what the settings say of their labels; gives warnings, see `check_data`.

    The steps that need them come after pre-training.
    """
    source = settings.examples
    if source is None:
        return []
    if isinstance(source, DocstringTask):
        source.check()
        _check_slice_columns(settings, {})
        _check_labels(settings, source.task, source.labels())
        return []
    splits, task = source.splits(), TASK_ROWS[source.task]
    labels = task.labels(source, splits["train"])
    _check_labels(settings, source.task, labels)
    _check_slice_columns(settings, splits)
    check_dimensions(settings)
    if isinstance(source, RetrievalSource):
        task.check(splits)
    else:
        _check_test_rows(settings, source.task, splits, labels)
    for capability, table in enabled_capabilities(settings):
        capability.check_rows(table, source, splits)
    if source.overlap == "error":
        check_overlap(splits, task, "in")
    if source.near_overlap == "error":
        check_overlap(splits, task, "near")
    if settings.unlabelled is not None and "error" in (source.overlap, source.near_overlap):
        texts = list(read_lines(settings.unlabelled))
        resolve_leaks(texts, splits, task, overlap=source.overlap, near_overlap=source.near_overlap)
    overlap = count_overlap(splits, task.key) if source.overlap == "keep" else {}
    described = describe_overlap(overlap, count_rows(splits), task.plural_name)
    return [*source.describe(splits), *described, *describe_few_rows(splits), *check_search_texts(settings, splits)]


def _check_labels(settings: Settings, task: str, labels: Sequence[str]) -> None:
    """Raises InputError where a metric, a precision or a class weight does not suit the labels of training rows."""
    with _errors_in("evaluation"):
        check_precision(settings.evaluation.min_precision, task)
        choose_metric(settings.evaluation.metric, TASK_SCORING[task], labels)
    with _errors_in("fine_tuning"):
        check_class_weights(task, labels, settings.fine_tuning.class_weights)


def _check_test_rows(settings: Settings, task: str, splits: Splits, labels: Sequence[str]) -> None:
    """Raises InputError where models cannot be measured on the rows, or not be better than the trivial answer."""
    scoring, rows = TASK_SCORING[task], TASK_ROWS[task]
    try:
        complete = complete_splits(splits, rows)
    except InputError:
        return  # too few rows: `ingest_examples` refuses them
    rows.check(complete)
    metric = choose_metric(settings.evaluation.metric, scoring, labels)
    check_test_rows(scoring, metric, complete["train"], complete["test"], labels)


def _check_slice_columns(settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
    """Raises InputError where a column of slices is missing or has too many values, or the rows are of no table."""
    source, thresholds = settings.examples, settings.evaluation
    columns = thresholds.slice_columns
    if not columns:
        return
    with _errors_in("evaluation"):
        if not isinstance(source, TableSource):
            task = None if source is None else source.task
            raise InputError(f"slice_columns is only allowed for tables of texts, got {columns[0]!r} for {task}")
        split = "test" if "test" in splits else "train"
        try:
            values = source.column_values(columns, splits[split], split)
        except InputError as error:
            raise InputError(f"slice_columns must name columns of the {split} table: {error}") from None
        for column in columns:
            check_column_values(column, values[column], thresholds.min_slice_scores)


@contextlib.contextmanager
def _errors_in(table: str) -> Iterator[None]:
    """Puts the name of a table before the field that an error names."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{table}.{error}") from None


def _check_push_folder(folder: Path | None) -> None:
    """Before any training: it is the last step that writes to it."""
    if folder is None:
        return
    try:
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        # Permissions do not tell: those of /proc let nobody make a folder.
        tempfile.TemporaryDirectory(dir=existing).cleanup()
    except OSError as error:
        rule = "must be a folder that can be written to or made"
        raise InputError(f"push.folder {rule}, got {folder}: {error.strerror}") from None


def _check_objective(settings: Settings) -> None:
    """The masking of rows, and whether they are pairs, must suit the training objective."""
    pretraining, rows = settings.pretraining, settings.pretraining_rows
    if pretraining.objective == "replaced_tokens":
        for name, value, default in (
            ("pretraining_rows.objective", rows.objective, "none"),
            ("pretraining.span_boundary", pretraining.span_boundary, False),
        ):
            if value != default:
                rule = f"be {default!r} where pretraining.objective is 'replaced_tokens', which learns nothing from it"
                raise InputError(f"{name} must {rule}, got {value!r}")
        _check_generator(settings)
    elif "generator" in settings.model_fields_set:
        raise InputError("generator must be left out where pretraining.objective is not 'replaced_tokens'")
    variant = settings.encoder and settings.encoder.variant
    if pretraining.mask_decoder and settings.encoder is not None and not isinstance(variant, DeBERTa):
        raise InputError("pretraining.mask_decoder must be false where encoder.variant.kind is not 'deberta'")
    if pretraining.span_boundary and settings.masking.strategy != "spans":
        rule = "be 'spans' where pretraining.span_boundary is true"
        raise InputError(f"masking.strategy must {rule}, got {settings.masking.strategy!r}")


def _check_generator(settings: Settings) -> None:
    """Checks it against `[encoder]`; the encoder of a checkpoint is read only during the run."""
    if settings.encoder is not None:
        try:
            settings.generator.config(settings.encoder.encoder_config(settings.vocabulary.size, settings.max_length))
        except FieldError as error:
            raise InputError(error.describe("generator")) from None


def _check_generator_size(settings: Settings) -> None:
    """Checks the generator's sizes against those of a checkpoint that are known before weights are read."""
    if settings.checkpoint is None or settings.pretraining.objective != "replaced_tokens":
        return
    for field in AT_MOST:
        size, most = getattr(settings.generator, field), settings.checkpoint.size(field)
        if size is not None and most is not None and size > most:
            raise InputError(f"generator.{field} must be at most {most}, the checkpoint's, got {size}")


def _check_short_length(settings: Settings) -> None:
    short = settings.pretraining_rows.short_length
    if short is not None and short > settings.max_length:
        rule = f"be at most max_length={settings.max_length}"
        raise InputError(f"pretraining_rows.short_length must {rule}, got {short}")


def _check_last_seed(settings: Settings) -> None:
    for name in ("fine_tuning", "distillation", "pruning", "quantization"):
        table = getattr(settings, name)
        if table is not None and table.seed + settings.seeds > 2**32:
            raise InputError(f"{name}.seed must leave room for {settings.seeds} seeds below 2^32, got {table.seed}")
