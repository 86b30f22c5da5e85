"""The steps of a job of several tasks: training, compression and export of one model on the rows of all tasks."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.examples.registry import read_rows
from components.export_model import LIBRARIES, read_features
from components.scoring.base import choose_metric
from components.scoring.candidates import SHIPPED, find_candidates, measure_size, read_timed_rows, timing_work
from components.scoring.model_card import format_score
from components.scoring.scorer import ModelScorer
from components.scoring.significance import compare_models
from components.training.model_folder import FROZEN_HEAD_FILE, read_model, write_model
from components.training.progress import StepMonitor
from components.training.tuning import HeadSettings, build_task, count_tuning_rows, find_class_weights, tune_task
from keras_bert.core.folders import EXPORT_FILE
from keras_bert.options.export import Export
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
    from keras_bert.tasks.base import Features
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
    many, sources = _read_many(teacher), dict(zip(names, examples, strict=True))
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
    many, dense, sources = _read_many(student), read_model(student).network(), dict(zip(names, examples, strict=True))
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
    many, network = _read_many(student), read_model(student).network()
    sources = dict(zip(names, examples, strict=True))
    _, mixed = _read_rows(sources, temperature, quantization.accumulation)
    monitor = StepMonitor(examples, scored_after=_count_tuning_rows(many, sources))
    with named_apart(many.model):
        with input_errors(f"quantization, recipe {quantization.recipe}: "):
            aware = start_quantization(many, mixed, quantization)
        history = quantize_task(many, aware, network, mixed, quantization, monitor)
    _tune(many, sources)
    write_model(quantized, many, history, "float32" if quantization.post_training else quantization.precision)


@component(libraries=LIBRARIES)
def export_together(
    model: Input[Model],
    examples: Input[list[TaskExamples]],
    edge: Output[EdgeModel],
    names: tuple[str, ...],
    export: Export = Export(),
    rows: int = 500,
) -> None:
    """Writes one file with all tasks for each runtime, and compares each task with its model on validation rows.

    Raises:
        ParityError: the answers of a file differ from those of the model.
    """
    from keras_bert.clients.golden import make_golden_rows, write_golden
    from keras_bert.compress.quantization_parameters import read_quantization
    from keras_bert.export.files import LITERT, LITERT_FLOAT, ONNX
    from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
    from keras_bert.export.targets.registry import TARGETS
    from plugins.many_tasks.files import MINIMUM_AGREEMENT, write_file

    many, sources = _read_many(model), dict(zip(names, examples, strict=True))
    many.quantization = quantization = read_quantization(model.path)
    calibrates = quantization is not None and needs_calibration_rows(quantization.recipe)
    ranged = [read_features(source, "train", rows) for source in examples] if calibrates else []
    # The files of these runtimes are compared on ids, not on texts.
    samples = {
        name: ComparisonRows(read_features(source, "validation", rows), list, MINIMUM_AGREEMENT)
        for name, source in sources.items()
    }
    many.save_settings(edge.path)
    files = {"tflite": LITERT_FLOAT if quantization is None else LITERT, "onnx": ONNX}
    inputs, records = ExportInputs(many, quantization, export, edge.path), {}
    for target in export.runtimes:
        file = files[target]
        measured = write_file(many, file, edge.path, export, _stack(ranged), samples)
        records[file.name] = {**TARGETS[target].describe(inputs, file), **measured}
    golden = [{"task": name, **row} for name in many.tasks for row in make_golden_rows(edge.path, name)]
    write_golden(edge.path, golden)
    edge.file(EXPORT_FILE).write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    edge.counts = {name: record["bytes"] for name, record in records.items()}


@component(
    libraries=("ai-edge-litert", "keras", "onnxruntime", "tensorflow", "tensorflow-text", "tokenizers"),
    kind="measurement",
)
def measure_single(
    examples: Input[TaskExamples],
    edges: Input[list[EdgeModel]],
    shared: Input[EdgeModel],
    rows: Output[FurtherModels],
    part: str,
    metric: str = "",
) -> None:
    """The file of a model of one task alone as a row of the task's table, and what sharing an encoder costs.

    `shared` has the task as its `part`; both files answer the test rows.
    """
    alone, together = find_candidates([], [], edges), find_candidates([], [], [shared], part)
    name = next(name for name in SHIPPED if name in alone)
    test = read_rows(examples, "test")
    scorer = ModelScorer(examples.features(), 2 * len(test) + timing_work(len(test)))
    (single,), (joint,) = (scorer.score_seeds(name, files[name], test) for files in (alone, together))
    scorer.report(f"timing {name}", timing_work(len(test)))
    megabytes, milliseconds = measure_size(alone[name][0], read_timed_rows(examples))
    row = MeasuredModel(SeedScores.table([single.scores.metrics]), megabytes, milliseconds)
    metric = choose_metric(metric, scorer.scoring, scorer.labels)
    answers = [joint.answers], [single.answers]
    difference = compare_models(scorer.scoring, test, *answers, scorer.labels, metric)
    scores = [format_score(SeedScores.of([model.scores.metrics[metric]]), metric) for model in (joint, single)]
    verdict = f"{name} {metric} {scores[0]} beside {scores[1]} of a model of this task alone: {difference}"
    rows.write(FurtherRows({f"{name}, of this task alone": row}, [(True, verdict)]))


def _read_many(artifact: Model) -> "ManyTasks":
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


def _stack(parts: "Sequence[Features]") -> "Features | None":
    """Rows of several tasks as one batch of inputs (rows, longest); None for no rows."""
    width = max((part["token_ids"].shape[1] for part in parts), default=0)
    padded = [
        {name: np.pad(values, ((0, 0), (0, width - values.shape[1]))) for name, values in part.items()}
        for part in parts
    ]
    return {name: np.concatenate([part[name] for part in padded]) for name in padded[0]} if padded else None
