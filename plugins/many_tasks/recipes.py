"""Trains and compresses several tasks together on rows in memory, by the recipes of single tasks."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from keras_bert.core.checks import check
from keras_bert.data.array_batches import ArrayRows
from keras_bert.in_memory.compress import (
    PRUNING_RATE,
    QUANTIZATION_RATE,
    check_float,
    check_labels,
    is_fitted_to_rows,
    unchanged_if_failed,
)
from keras_bert.in_memory.fit import (
    ProgressBar,
    check_learnable,
    check_trainable,
    hold_out,
    read_columns,
    read_rows,
    suggest_training,
)
from keras_bert.options.compression import Distillation, Pruning, Student
from keras_bert.options.fine_tuning import StartHead
from keras_bert.options.quantization import Quantization, RecipeName
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Training
from keras_bert.recipes.fit import fit_task, tune_task
from keras_bert.recipes.prune import prune_task
from keras_bert.recipes.quantize import quantize_task, start_quantization
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras, read_class_weights
from keras_bert.training.history import History
from keras_bert.training.new_head import restored_head
from plugins.many_tasks.joint import heads_of, named_apart
from plugins.many_tasks.rows import MixedRows
from plugins.many_tasks.task import ManyTasks
from plugins.many_tasks.together import distill_together, start_heads

# The arguments of `examples` of each task, by its name.
Data = Mapping[str, Sequence[Any]]


def fit(
    many: ManyTasks,
    data: Data,
    *,
    temperature: float = 1.0,
    freeze: bool = False,
    class_weights: Mapping[str, Any] | None = None,
    validation_split: float = 0.0,
    start_head: StartHead = "auto",
    verbose: int = 1,
    **training: Any,
) -> History:
    """Trains tasks together: a step has rows of one task, and the tasks take turns.

    With one task it is `keras_bert.fit`, with the same weights, bit for bit.

    Args:
        many: the tasks, trained in place.
        data: name -> the arguments of the task's `examples`, such as texts and labels, and second texts after them.
            Tasks that are not named stay as they are, but for the encoder.
        temperature: how often small tasks have a turn, see `MixedRows`.
        freeze: whether the encoder stays as it is, so that only heads are trained, and other tasks answer as before.
        class_weights: name -> the weights of its labels, see `keras_bert.fit`.
        validation_split: share of the last rows of each task, which choose the weights by the mean over the tasks, each
            of which counts once whatever its share: the accuracy of classes, and 1 / (1 + loss) of other tasks.
        start_head: how new heads start, see `keras_bert.fit`.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`; by default those that suit the mean number of rows of a task, see
            `keras_bert.fit`: each task learns from its rows as often as alone.

    Returns:
        The history; the metrics of a task are called `NAME_...`, and `loss` is the mean over all rows.

    Raises:
        TypeError: a row has the wrong type, or there is no such setting.
        ValueError: a name, a row or a setting is not valid, or the model is an exported file or quantized.
    """
    chosen, columns = _choose(many, data, "trained")
    plan = suggest_training(chosen, _mean_count(columns), **training)
    weights = {name: read_class_weights((class_weights or {}).get(name), chosen.part(name).labels) for name in columns}
    parts = {}
    for name, task in chosen.tasks.items():
        parts[name] = hold_out(task, read_rows(task, columns[name]), columns[name], validation_split)
        learned, held_out, _ = parts[name]
        for rows in (learned, held_out) if validation_split else (learned,):
            check_learnable(task, rows, plan)
    sources = {
        name: ArrayRows(task.name, parts[name][0], task.max_length, parts[name][1] if validation_split else None)
        for name, task in chosen.tasks.items()
    }
    mixed = MixedRows(sources, temperature, plan.accumulation)
    epochs = plan.count_steps(mixed.count) * plan.batch_size / mixed.count
    settings = FineTuningSettings(
        **vars(plan),
        keep="best" if validation_split else "last",
        validations=max(1, round(epochs)),
        start_head=start_head,
    )
    with contextlib.ExitStack() as stack:
        before = [stack.enter_context(restored_head(task)) for task in chosen.tasks.values()]
        for name, task in chosen.tasks.items():
            _prepare(task, columns[name], parts[name][0])
        start_heads(chosen, sources, settings, weights)
        if validation_split:
            for head_weights in before:
                head_weights.clear()  # after an error the tasks have the best weights so far
        if freeze:
            stack.enter_context(_frozen_encoder(chosen))
        stack.enter_context(named_apart(chosen.model))
        monitor, objective_weights = ProgressBar(verbose, settings.validations), cast("Any", weights)
        history = fit_task(chosen, None, mixed, settings, monitor, class_weights=objective_weights)
    for name, task in chosen.tasks.items():
        if task.tunes and (validation_split or task.tuned_by == "train"):
            first = parts[name][2]
            tuned = slice(first, None) if task.tuned_by == "validation" else slice(first)
            tune_task(task, *(column[tuned] for column in columns[name]))
    return History(history)


def distill(
    teacher: ManyTasks,
    data: Data,
    *,
    teachers: Mapping[str, Task] | None = None,
    layers: Sequence[int] | None = None,
    student: Student | None = None,
    temperature: float = 1.0,
    distillation: Distillation = Distillation(),
    verbose: int = 1,
    **training: Any,
) -> ManyTasks:
    """Trains one smaller student of all tasks on answers of teachers and labels.

    Args:
        teacher: the tasks that the student starts from, which stay as they are.
        data: see `fit`; all tasks are named.
        teachers: a model of each task whose answers are learnt, such as one trained for it alone; None for `teacher`.
        layers: indices of the teacher's layers that the student keeps; either these or `student`.
        student: how the student differs from the teacher.
        temperature: see `fit`.
        distillation: the temperature of the answers, and the share of the labels in the loss.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`.

    Raises:
        TypeError: see `fit`.
        ValueError: a row or a setting is not valid, a task has no rows or no teacher, or a teacher reads other tokens.
    """
    check("distill", "layers", (layers is None) != (student is None), "be set, or else student", (layers, student))
    complete = set(data) == set(teacher.tasks)
    check("distill", "data", complete, f"have rows of {', '.join(teacher.tasks)}", list(data))
    shape = student or Student(layers=tuple(layers or ()))
    _, columns = _choose(teacher, data, "")
    for name, task in teacher.tasks.items():
        check_labels(task, columns[name])
    plan = suggest_training(teacher, _mean_count(columns), is_student=True, **{**shape.training, **training})
    mixed, sources = _read(teacher, columns, plan, temperature)
    settings = DistillationSettings(**vars(plan), **vars(distillation))
    small, _, _ = distill_together(
        teacher,
        teachers or {},
        sources,
        mixed,
        shape,
        settings,
        ProgressBar(verbose),
        lambda name, task: _prepare(task, columns[name], read_rows(task, columns[name])),
    )
    for name, task in small.tasks.items():
        if is_fitted_to_rows(task):
            tune_task(task, *columns[name])
    return small


def prune(
    many: ManyTasks,
    data: Data,
    *,
    pruning: Pruning = Pruning(),
    distillation: Distillation = Distillation(),
    temperature: float = 1.0,
    verbose: int = 1,
    **training: Any,
) -> None:
    """Sets the smallest weights of the encoder to zero, see `keras_bert.prune`; for data see `fit`."""
    plan = check_float(many, "pruned", PRUNING_RATE, training)
    settings = PruningSettings(**vars(plan), **vars(distillation), **vars(pruning))
    mixed = _read_all(many, data, plan, temperature)
    with unchanged_if_failed(many.network()) as dense, named_apart(many.model):
        prune_task(many, dense, mixed, settings, ProgressBar(verbose))


def quantize(
    many: ManyTasks,
    data: Data,
    *,
    recipe: RecipeName = "dynamic_wi8",
    post_training: bool = False,
    quantization: Quantization | None = None,
    distillation: Distillation = Distillation(),
    temperature: float = 1.0,
    verbose: int = 1,
    **training: Any,
) -> None:
    """Quantizes the encoder and all heads, once for all tasks, see `keras_bert.quantize`; for data see `fit`.

    By default activations have ranges by row, since one range for the rows of all tasks costs accuracy
    (docs/accuracy.md).

    `many.export` and the `export` of each task then write integers. Layers of heads that stay float are named with
    their task, such as `mood/classifier`.
    """
    plan = check_float(many, "quantized", QUANTIZATION_RATE, training)
    chosen = quantization or Quantization(recipe=recipe)
    settings = QuantizationSettings(**vars(plan), **vars(distillation), **vars(chosen), post_training=post_training)
    mixed = _read_all(many, data, plan, temperature)
    with unchanged_if_failed(many.network()) as float_network, named_apart(many.model):
        aware = start_quantization(many, mixed, settings)
        quantize_task(many, aware, float_network, mixed, settings, ProgressBar(verbose))


def _choose(many: ManyTasks, data: Data, use: str) -> tuple[ManyTasks, dict[str, list[list[Any]]]]:
    """The tasks that have rows, and the columns of each; `use` is a participle for errors, empty for a teacher."""
    check("ManyTasks", "data", bool(data), "have rows of at least one task", data)
    chosen = many.only(list(data))
    check_trainable(chosen, use) if use else check_keras(chosen, "distilled")
    columns = {}
    for name, task in chosen.tasks.items():
        firsts, seconds = read_columns(task, data[name], None)
        columns[name] = [*firsts, *([] if seconds is None else [seconds])]
    return chosen, columns


def _mean_count(columns: Mapping[str, list[list[Any]]]) -> int:
    return round(sum(len(part[0]) for part in columns.values()) / len(columns))


def _read_all(many: ManyTasks, data: Data, plan: Training, temperature: float) -> MixedRows:
    """The rows of all tasks, none of which may be missing."""
    complete = set(data) == set(many.tasks)
    rule = f"have rows of all tasks, {', '.join(many.tasks)}, whose encoder changes"
    check("ManyTasks", "data", complete, rule, list(data))
    return _read(many, _choose(many, data, "trained")[1], plan, temperature)[0]


def _read(
    many: ManyTasks, columns: Mapping[str, list[list[Any]]], plan: Training, temperature: float
) -> tuple[MixedRows, dict[str, ArrayRows]]:
    """The rows of all tasks together, and of each."""
    sources = {}
    for name, task in many.tasks.items():
        rows = read_rows(task, columns[name])
        check_learnable(task, rows, plan)
        sources[name] = ArrayRows(task.name, rows, task.max_length)
    return MixedRows(sources, temperature, plan.accumulation), sources


def _prepare(task: Task, columns: Sequence[Any], rows: Mapping[str, Any]) -> None:
    """Notes whether a task reads pairs, and gives its head the scale of its rows."""
    if task.second_text == "optional":
        labels = len(read_columns(task, columns, None)[0])
        task.pairs = len(columns) > labels
    if task.label_name in rows:
        task.start_scale(rows[task.label_name], rows)


@contextlib.contextmanager
def _frozen_encoder(many: ManyTasks) -> Iterator[None]:
    """Inside of the block, training changes heads alone."""
    heads = heads_of(many.model)
    layers = [layer for layer in many.model.layers if layer not in heads]
    before = [layer.trainable for layer in layers]
    try:
        for layer in layers:
            layer.trainable = False
        yield
    finally:
        for layer, trainable in zip(layers, before, strict=True):
            layer.trainable = trainable
