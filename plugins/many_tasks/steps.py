"""The trainings of a job of several tasks: one model learns and shrinks on the rows of all.

The first `Model` input of each step is the model that it changes: `search` follows these inputs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.training.model_folder import FROZEN_HEAD_FILE, read_model, write_model
from components.training.progress import StepMonitor
from components.training.tuning import HeadSettings, build_task, count_tuning_rows, find_class_weights, tune_task
from keras_bert.options.students import AnyStudent
from keras_bert.options.tables import (
    ClassWeights,
    DistillationSettings,
    FineTuningSettings,
    PruningSettings,
    QuantizationSettings,
)

if TYPE_CHECKING:
    from keras_bert.data.task_batches import RecordRows
    from plugins.many_tasks.rows import MixedRows
    from plugins.many_tasks.task import ManyTasks

_TRAINING = ("keras", "numpy", "scipy", "tensorflow", "tensorflow-text", "threadpoolctl")
_ROUNDING = ("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text")


@component(libraries=_TRAINING, kind="training")
def fine_tune_together(
    pretrained: Input[Model],
    examples: Input[list[TaskExamples]],
    model: Output[Model],
    names: tuple[str, ...],
    heads: dict[str, HeadSettings],
    shares: dict[str, float],
    class_weights: dict[str, ClassWeights],
    fine_tuning: FineTuningSettings = FineTuningSettings(),
    temperature: float = 1.0,
) -> None:
    """Trains an encoder with a head for each task; `examples` are in the order of `names`.

    Raises:
        InputError: the encoder cannot have these heads.
    """
    from keras_bert.recipes.fit import fit_task
    from keras_bert.training.seeds import make_deterministic
    from plugins.many_tasks.joint import named_apart
    from plugins.many_tasks.task import ManyTasks
    from plugins.many_tasks.together import start_heads

    make_deterministic(fine_tuning.seed)
    sources = dict(zip(names, examples, strict=True))
    initial, tasks, weights = read_model(pretrained), {}, {}
    for name, source in sources.items():
        description = source.features()
        tasks[name] = build_task(initial, description, heads[name])
        weights[name] = find_class_weights(description, description["settings"].get("labels", []), class_weights[name])
    with input_errors("tasks: "):
        many = ManyTasks(tasks, shares=shares)
    rows, mixed = _read_rows(sources, temperature, fine_tuning.accumulation)
    with input_errors("fine_tuning: "):
        fitted = start_heads(many, rows, fine_tuning, weights)
    monitor = StepMonitor(examples, fine_tuning.validations, scored_after=_count_tuning_rows(many, sources))
    joint_weights: Any = weights
    with named_apart(many.model):
        history = fit_task(many, None, mixed, fine_tuning, monitor, class_weights=joint_weights)
    _tune(many, sources)
    write_model(model, many, history, fine_tuning.precision)
    for name, head in fitted.items():
        head.save(model.file(f"{name}{FROZEN_HEAD_FILE}"))


@component(libraries=_TRAINING, kind="training")
def distill_together(
    teacher: Input[Model],
    examples: Input[list[TaskExamples]],
    student: Output[Model],
    names: tuple[str, ...],
    shape: AnyStudent,
    teachers: Input[list[Model]] | None = None,
    distillation: DistillationSettings = DistillationSettings(),
    temperature: float = 1.0,
) -> None:
    """Trains one student of all tasks, which starts from `teacher`.

    It learns the answers of `teachers`, a model of each task in the order of `names`; those of `teacher` for None.

    Raises:
        InputError: the teacher has no such layers, or the shape is invalid.
    """
    from keras_bert.training.seeds import make_deterministic
    from plugins.many_tasks import together

    make_deterministic(distillation.seed)
    many, sources = read_many(teacher), dict(zip(names, examples, strict=True))
    singles = {name: read_model(single) for name, single in zip(names, teachers, strict=True)} if teachers else {}
    rows, mixed = _read_rows(sources, temperature, distillation.accumulation)
    monitor = StepMonitor(examples, scored_after=_count_tuning_rows(many, sources))
    with input_errors("student: "):
        small, copied, history = together.distill_together(many, singles, rows, mixed, shape, distillation, monitor)
    _tune(small, sources)
    write_model(student, small, history, distillation.precision)
    student.counts["layers_from_teacher"] = copied


@component(libraries=_ROUNDING, kind="training")
def prune_together(
    student: Input[Model],
    examples: Input[list[TaskExamples]],
    pruned: Output[Model],
    names: tuple[str, ...],
    pruning: PruningSettings = PruningSettings(),
    temperature: float = 1.0,
) -> None:
    """Sets more and more of the smallest weights to zero while the model trains on the rows of all tasks."""
    from keras_bert.recipes.prune import prune_task
    from keras_bert.training.seeds import make_deterministic
    from plugins.many_tasks.joint import named_apart

    make_deterministic(pruning.seed)
    many, dense, sources = read_many(student), read_model(student).network(), dict(zip(names, examples, strict=True))
    _, mixed = _read_rows(sources, temperature, pruning.accumulation)
    monitor = StepMonitor(examples, scored_after=_count_tuning_rows(many, sources))
    with named_apart(many.model):
        history, sparsity = prune_task(many, dense, mixed, pruning, monitor)
    _tune(many, sources)
    write_model(pruned, many, history, pruning.precision)
    pruned.counts["sparsity"] = round(sparsity, 4)


@component(libraries=_ROUNDING, kind="training")
def quantize_together(
    student: Input[Model],
    examples: Input[list[TaskExamples]],
    quantized: Output[Model],
    names: tuple[str, ...],
    quantization: QuantizationSettings = QuantizationSettings(),
    temperature: float = 1.0,
) -> None:
    """Quantizes the encoder and all heads on the rows of all tasks, see `components.quantize`.

    Raises:
        InputError: the recipe does not fit the model.
    """
    from keras_bert.recipes.quantize import quantize_task, start_quantization
    from keras_bert.training.seeds import make_deterministic
    from plugins.many_tasks.joint import named_apart

    make_deterministic(quantization.seed)
    many, network = read_many(student), read_model(student).network()
    sources = dict(zip(names, examples, strict=True))
    _, mixed = _read_rows(sources, temperature, quantization.accumulation)
    monitor = StepMonitor(examples, scored_after=_count_tuning_rows(many, sources))
    with named_apart(many.model):
        with input_errors(f"quantization, recipe {quantization.recipe}: "):
            aware = start_quantization(many, mixed, quantization)
        history = quantize_task(many, aware, network, mixed, quantization, monitor)
    _tune(many, sources)
    write_model(quantized, many, history, "float32" if quantization.post_training else quantization.precision)


def read_many(artifact: Model) -> "ManyTasks":
    """The tasks that a model artifact holds."""
    from plugins.many_tasks.task import ManyTasks

    many = read_model(artifact)
    assert isinstance(many, ManyTasks)
    return many


def _read_rows(
    sources: Mapping[str, TaskExamples], temperature: float, accumulation: int
) -> tuple[dict[str, "RecordRows"], "MixedRows"]:
    from keras_bert.data.task_batches import RecordRows
    from plugins.many_tasks.rows import MixedRows

    rows = {name: RecordRows(source.path) for name, source in sources.items()}
    return rows, MixedRows(rows, temperature, accumulation)


def _count_tuning_rows(many: "ManyTasks", sources: Mapping[str, TaskExamples]) -> int:
    return sum(count_tuning_rows(task, sources[name]) for name, task in many.tasks.items())


def _tune(many: "ManyTasks", sources: Mapping[str, TaskExamples]) -> None:
    for name, task in many.tasks.items():
        tune_task(task, sources[name])
