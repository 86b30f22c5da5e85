"""The changes of a job by which a stage may lose less."""

from collections.abc import Iterator

from components.examples.registry import TASK_ROWS
from components.examples.source_rows import reads_pairs
from components.sources.retrieval import RetrievalSource
from keras_bert.options.quantization import RECIPES
from keras_bert.options.training import Training
from pipeline.settings.schema import Settings


def list_changes(settings: Settings) -> dict[str, list[str]]:
    """Table of a stage of the job -> what the job does not do yet and can do: settings, with their values."""
    stages = {"student": _change_student, "pruning": _change_pruning, "quantization": _change_quantization}
    return {table: [*change(settings)] for table, change in stages.items() if getattr(settings, table) is not None}


def _change_student(settings: Settings) -> Iterator[str]:
    student, source, augmentation = settings.student, settings.examples, settings.teacher_labels
    if student is None or source is None:
        return
    layers, encoder = len(student.layers or ()) or student.num_layers, settings.encoder
    # The number of a checkpoint's layers is in its files, which a machine that compiles a job need not have.
    if layers is not None and (encoder is None or layers < encoder.num_layers):
        field = "layers" if student.layers else "num_layers"
        yield f"keep more of the teacher's layers than {layers} (student.{field})"
    yield _train_longer("distillation", settings.distillation)
    if reads_pairs(source) and not (augmentation and augmentation.new_pairs):
        yield "add new pairs of the rows' texts (teacher_labels.new_pairs)"
    elif settings.unlabelled is None and TASK_ROWS[source.task].may_be_unlabelled and not reads_pairs(source):
        yield "add texts that the teacher labels ([unlabelled])"
    elif not isinstance(source, RetrievalSource) and not (augmentation and augmentation.copies):
        yield "add altered copies of the rows (teacher_labels.copies)"


def _change_pruning(settings: Settings) -> Iterator[str]:
    if (pruning := settings.pruning) is not None:
        if pruning.pattern == "unstructured":
            yield f"lower pruning.sparsity ({pruning.sparsity:g})"
        yield _train_longer("pruning", pruning)


def _change_quantization(settings: Settings) -> Iterator[str]:
    if (table := settings.quantization) is not None:
        recipe = RECIPES[table.recipe]
        if recipe.weight_bits < 8:
            yield f'set quantization.recipe = "dynamic_wi8", which has 8 bits instead of {recipe.weight_bits}'
        yield "leave out quantization.post_training" if table.post_training else _train_longer("quantization", table)
        if recipe.integers:
            yield "keep layers in float32 (quantization.float_layers), which `doctor JOB --fix 1` finds"


def _train_longer(table: str, training: Training) -> str:
    key = "epochs" if training.steps is None else "steps"
    return f"raise {table}.{key} ({getattr(training, key):g})"
