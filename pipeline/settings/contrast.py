"""What retrieval needs of the tables of a job and of its rows."""

from components.dsl.errors import InputError, table_errors
from components.examples.registry import TASK_ROWS
from components.sources.retrieval import RetrievalSource
from keras_bert.options.training import Contrast
from pipeline.settings.schema import Settings


def check_contrast(settings: Settings) -> None:
    """Raises InputError where `[contrast]` has no task, or a table asks for what retrieval cannot give."""
    source, dimension = settings.examples, settings.export.dimension
    if dimension is not None and (source is None or not TASK_ROWS[source.task].has_vectors):
        raise InputError(f"export.dimension is only allowed for embedding and retrieval, got {dimension}")
    task, has_passages = source and source.task, isinstance(source, RetrievalSource)
    mines = has_passages and TASK_ROWS[str(task)].has_vectors
    for name, is_allowed in {"contrast": has_passages, "hard_negatives": mines, "reranker": has_passages}.items():
        if task and not is_allowed and getattr(settings, name) is not None:
            raise InputError(f"{name} is only allowed for the task 'retrieval', got it for {task!r}")
    if source is None or not TASK_ROWS[source.task].compares_batches:
        return
    if settings.teacher_labels is not None:
        raise InputError(f"teacher_labels must be left out for the task {task!r}, whose loss compares whole batches")
    contrast, negatives = settings.contrast or Contrast(), getattr(source, "negatives", ())
    if contrast.loss == "triplet" and not negatives:
        raise InputError("contrast.loss must be 'multiple_negatives' where examples.negatives is empty, got 'triplet'")
    tables = {name: getattr(settings, name) for name in ("fine_tuning", "distillation", "pruning", "quantization")}
    trainings = {name: table for name, table in tables.items() if table is not None}
    if contrast.loss == "multiple_negatives" and not negatives:
        for name, training in trainings.items():
            # A query that is the only one in its batch, or its micro-batch, has no negatives.
            if (training.batch_size if contrast.across_micro_batches else training.micro_batch_size) < 2:
                rule = "leave at least 2 rows in a part of a batch, as a query learns from the passages of other rows"
                raise InputError(f"{name}.batch_size must {rule}, got {training.batch_size}")
    if contrast.across_micro_batches:
        if all(training.accumulation == 1 for training in trainings.values()):
            rule = "be left out where accumulation is 1 in all trainings, as a batch then has one part"
            raise InputError(f"contrast.across_micro_batches must {rule}")
        if settings.student is not None and settings.distillation.is_on:
            rule = "be false where [distillation] imitates states, vectors or similarities, part by part"
            raise InputError(f"contrast.across_micro_batches must {rule}")


def check_dimensions(settings: Settings, width: int | None) -> None:
    """Raises InputError where a vector of this width, or of an unknown one, would be truncated to a larger one."""
    dimension = settings.export.dimension
    if width is None:
        return
    if dimension is not None and dimension > width:
        raise InputError(f"export.dimension must be at most {width}, the width of a vector, got {dimension}")
    if settings.contrast is not None:
        with table_errors("contrast"):
            settings.contrast.check_width(width)


def vector_width(settings: Settings) -> int | None:
    """The width of the narrowest model's vectors; None if only the weights, which are not read, would tell."""
    widths = [] if settings.checkpoint is None else [settings.checkpoint.size("hidden_size")]
    widths += [shape.hidden_size for shape in (settings.encoder, settings.student) if shape is not None]
    return min((width for width in widths if width is not None), default=None)
