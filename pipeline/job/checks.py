"""What tables of the settings need of one another, and of the data: checked before anything starts."""

import dataclasses
import tempfile

from components.dsl.errors import InputError, prefixed_errors, table_errors
from components.examples.registry import TASK_ROWS, check_unlabelled
from components.examples.source_rows import reads_pairs
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.text import TextSource
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.options.compression import OF_EMBEDDINGS, OF_STATES
from keras_bert.options.tables import DistillationSettings, QuantizationSettings, TrainingWithTeacher
from pipeline.capabilities import CAPABILITIES, enabled_capabilities, split_job
from pipeline.job.examples import check_examples
from pipeline.settings.contrast import check_contrast
from pipeline.settings.graphs import check_float_layers, check_shapes, check_sizes
from pipeline.settings.page import check_page
from pipeline.settings.runtimes import check_models_of_runtimes, check_runtimes
from pipeline.settings.schema import Settings

# Table or key -> the table without which it would be read by no step.
_OF_CORPUS = "beam cleaning masking pretraining_rows pretraining generator vocabulary encoder"
_OF_EXAMPLES = (
    "stride max_query_length pooling normalize fine_tuning contrast hard_negatives reranker adaptation "
    "fitted_vocabulary student pruning quantization export evaluation push page seeds"
)
_NEEDS = {
    **dict.fromkeys(_OF_CORPUS.split(), "corpus"),
    **dict.fromkeys(_OF_EXAMPLES.split(), "examples"),
    "general_distillation": "student",
    "teacher_labels": "student",
}
_NOT_BESIDE_A_CHECKPOINT = ("vocabulary", "encoder")
_OF_QUESTIONS = ("stride", "max_query_length")


def check_tables(settings: Settings) -> None:
    """Raises InputError where a table is missing, or one is there that no step would read."""
    for name, job in split_job(settings).items():
        with prefixed_errors(f"task {name}: " if name else ""):
            _check_tables(job)


def _check_tables(settings: Settings) -> None:
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
        raise InputError(
            "pretraining_rows.objective must be one of pairs where pooling is 'cls', as these train the pooler, got "
            "'none'"
        )
    if settings.corpus is None and settings.examples is None:
        raise InputError("there must be something to train on: a [corpus], [examples], or both")
    task = None if settings.examples is None else settings.examples.task
    makes_vectors = task is not None and TASK_ROWS[task].has_vectors
    for name in _OF_QUESTIONS:
        if name in given and task != QuestionSource.task:
            raise InputError(f"{name} is only allowed for {QuestionSource.task}, got it for {task}")
    if settings.quantization is not None and "tflite" not in settings.export.runtimes:
        raise InputError(
            "quantization must be left out where export.runtimes has no 'tflite', as no other runtime runs its files, "
            f"got {list(settings.export.runtimes)}"
        )
    check_runtimes(settings)
    quantization, usual = settings.quantization, QuantizationSettings()
    for field in (
        dataclasses.fields(TrainingWithTeacher) if quantization is not None and quantization.post_training else ()
    ):
        # A key with its default value passes, as it looks like a key that is left out.
        value = getattr(quantization, field.name)
        if value != getattr(usual, field.name):
            raise InputError(
                f"quantization.{field.name} must be left out where post_training is true, as nothing trains, got "
                f"{value!r}"
            )
    check_pretraining(settings)
    if settings.encoder is not None:
        check_shapes(settings)
    for name in ("fine_tuning", "distillation", "pruning", "quantization"):
        table = getattr(settings, name)
        if table is not None and table.seed + settings.seeds > 2**32:
            raise InputError(f"{name}.seed must leave room for {settings.seeds} seeds below 2^32, got {table.seed}")
    check_teachers(settings)
    if settings.normalize is not None and not makes_vectors:
        raise InputError(f"normalize is only allowed for embedding and retrieval, got it for {task}")
    for name in OF_STATES if task is not None and not TASK_ROWS[task].imitates_states else ():
        weight = getattr(settings.distillation, name)
        if weight:
            raise InputError(f"distillation.{name} must be 0 for the task {task!r}, got {weight}")
    for name in OF_EMBEDDINGS:
        weight = getattr(settings.distillation, name)
        if weight and not makes_vectors:
            raise InputError(f"distillation.{name} must be 0 except for embedding and retrieval, got {weight}")
    for capability, own_table in enabled_capabilities(settings):
        capability.check_tables(own_table, settings)
    if settings.student is not None:
        settings.student.check_job(settings)
    check_contrast(settings)
    check_page(settings)


def check_pretraining(settings: Settings) -> None:
    """Raises InputError where rows, masking or generator do not suit the objective of the pre-training."""
    pretraining, rows = settings.pretraining, settings.pretraining_rows
    if pretraining.objective == "replaced_tokens":
        for name, value, default in (
            ("pretraining_rows.objective", rows.objective, "none"),
            ("pretraining.span_boundary", pretraining.span_boundary, False),
        ):
            if value != default:
                rule = f"be {default!r} where pretraining.objective is 'replaced_tokens', which learns nothing from it"
                raise InputError(f"{name} must {rule}, got {value!r}")
        if settings.encoder is not None:  # a checkpoint's encoder is read only during the run
            with table_errors("generator"):
                shape = settings.encoder.encoder_config(settings.vocabulary.size, settings.max_length)
                settings.generator.config(shape)
    elif "generator" in settings.model_fields_set:
        raise InputError("generator must be left out where pretraining.objective is not 'replaced_tokens'")
    variant = settings.encoder and settings.encoder.variant
    if pretraining.mask_decoder and settings.encoder is not None and not isinstance(variant, DeBERTa):
        raise InputError("pretraining.mask_decoder must be false where encoder.variant.kind is not 'deberta'")
    if pretraining.span_boundary and settings.masking.strategy != "spans":
        rule = "be 'spans' where pretraining.span_boundary is true"
        raise InputError(f"masking.strategy must {rule}, got {settings.masking.strategy!r}")
    if rows.short_length is not None and rows.short_length > settings.max_length:
        raise InputError(
            f"pretraining_rows.short_length must be at most max_length={settings.max_length}, got {rows.short_length}"
        )


def check_teachers(settings: Settings) -> None:
    """Raises InputError where no step would read a table about teachers, or a teacher's answers say nothing."""
    source, unlabelled, table = settings.examples, settings.unlabelled, settings.distillation
    if unlabelled is not None and source is not None:
        check_unlabelled(source.task)
    new_pairs = 0 if settings.teacher_labels is None else settings.teacher_labels.new_pairs
    if new_pairs and source is not None and not reads_pairs(source):
        rule = "be left out unless the rows are pairs of texts with classes or a number"
        raise InputError(f"teacher_labels.new_pairs must {rule}, got {new_pairs}")
    readers = {
        "unlabelled": unlabelled is not None and unlabelled.has_teacher_answers,
        "distillation": settings.has_teacher_answers(),
    }
    for name, is_read in readers.items() if settings.student is None else ():
        if name in settings.model_fields_set and not is_read:
            raise InputError(f"{name} must be left out without [student], as no step would read it")
    usual = DistillationSettings()
    for field in dataclasses.fields(table) if settings.student is None else ():
        value = getattr(table, field.name)
        if field.name not in ("temperature", "hard_weight") and value != getattr(usual, field.name):
            rule = "be left out without [student], as [fine_tuning] has the settings of the training"
            raise InputError(f"distillation.{field.name} must {rule}, got {value!r}")
    if table.teachers == "seeds" and settings.seeds < 2:
        raise InputError("distillation.teachers must be 'own' where seeds is 1, got 'seeds'; set seeds to 2 or more")
    if table.teachers == "seeds" and source is not None and TASK_ROWS[source.task].compares_batches:
        rule = f"be 'own' for the task {source.task!r}, whose loss compares batches"
        raise InputError(f"distillation.teachers must {rule}")
    if not isinstance(source, RetrievalSource):
        return
    if settings.reranker is not None and not source.negatives and settings.hard_negatives is None:
        raise InputError("reranker needs negatives to score, got none; set examples.negatives or [hard_negatives]")
    if source.has_teacher_answers and not source.negatives:
        rule = "be left out where examples.negatives is empty, as the score of one passage alone says nothing"
        raise InputError(f"examples.probabilities must {rule}")
    if settings.has_teacher_answers() and settings.contrast is not None and settings.contrast.across_micro_batches:
        raise InputError("contrast.across_micro_batches must be false beside examples.probabilities, got true")


def check_data(settings: Settings) -> list[str]:
    """Reads all of the user's data; returns what the user should know before anything trains, a line each."""
    warnings = []
    for name, job in split_job(settings).items():
        start = f"task {name}: " if name else ""
        with prefixed_errors(start):
            warnings += [f"{start}{warning}" for warning in _check_data(job)]
    return warnings


def _check_data(settings: Settings) -> list[str]:
    if settings.checkpoint is not None:
        settings.checkpoint.check()
        check_shapes(settings)
    if settings.reranker is not None:
        settings.reranker.check()
    check_sizes(settings)
    check_float_layers(settings)
    check_models_of_runtimes(settings)
    if settings.corpus is not None:
        settings.corpus.check()
    for name in ("general_distillation", "unlabelled", "page"):
        source: TextSource | None = getattr(settings, name)
        try:
            if source is not None:
                source.check()
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    # The steps that need the rows come after pre-training, and the last step writes to the folder.
    warnings, folder = check_examples(settings), settings.push.path()
    if folder is not None:
        try:
            # Permissions are not enough: in /proc nobody can make a folder, whatever its permissions.
            tempfile.TemporaryDirectory(dir=next(path for path in (folder, *folder.parents) if path.exists())).cleanup()
        except OSError as error:
            raise InputError(
                f"push.folder must be a folder that can be written to or made, got {folder}: {error.strerror}"
            ) from None
    return warnings
