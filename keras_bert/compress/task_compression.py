"""Compression of a task on rows in memory: distillation, pruning and quantization, as the pipeline's steps do them."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.compress.new_students import STARTING_BATCHES, make_student, measure_by_loss, measure_by_states
from keras_bert.compress.prune import MagnitudePruning
from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.core.checks import check
from keras_bert.models.encoder import input_names
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation, Imitation, Pruning, Student
from keras_bert.options.quantization import Quantization, RecipeName
from keras_bert.options.training import Training
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.checks import check_keras
from keras_bert.training.fit import (
    Rows,
    batches,
    check_trainable,
    count_steps,
    read_columns,
    read_rows,
    read_rows_with_answers,
    suggest_training,
    train,
)
from keras_bert.training.masks import keep_zeros
from keras_bert.training.new_head import fit_head, has_drawn_head
from keras_bert.training.trainer import seeded_weights, validation_rows

# The learning rates of the pipeline's steps.
_PRUNING_RATE, _QUANTIZATION_RATE = 5e-5, 2e-5
# Settings of `Training` that choose the rows which measure ranges.
_USED_WITHOUT_TRAINING = {"batch_size", "accumulation", "seed"}


def distill(
    teacher: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    student: Student | None = None,
    probabilities: Any = None,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    verbose: int = 1,
    **training: Any,
) -> Task:
    """Trains a smaller student on a teacher's answers.

    Args:
        teacher: a trained task with a Keras model, which stays as it is; with `probabilities` it may be
            untrained, as the student only starts from its layers.
        data: the arguments of `teacher.examples`. Of a classifier or a regression texts alone suffice, which the
            teacher labels. See `keras_bert.fit` for their types.
        pairs: the second text of each row.
        layers: indices, from 0, of the teacher's layers that the student keeps; set either `layers` or `student`.
        student: how the student differs from the teacher.
        probabilities: the answers of another teacher, such as a large language model, instead of those of `teacher`:
            probabilities of the labels (rows, labels), in the order of `teacher.labels` or in columns named as the
            labels; of a regression the numbers (rows,), of an embedding the cosines (rows,).
        distillation: the temperature, and the share of the labels in the loss, which is 0 for texts alone.
        imitation: weights of further losses, on the hidden states and attentions of teacher and student.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`, such as `epochs`; defaults suit the rows and the teacher, see
            `keras_bert.fit`.

    Returns:
        The student.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, the teacher has no such layers, or it is an exported file.

    Examples:
        >>> small = distill(task, ["film film", "film"], student=Student(num_heads=1), epochs=1, verbose=0)
        >>> small.labels, small.encoder.count_params() < task.encoder.count_params()
        (('no', 'yes'), True)
    """
    check_keras(teacher, "distilled")
    is_one_set = (layers is None) != (student is None)
    check("distill", "layers", is_one_set, "be set, or else student", (layers, student))
    is_given = probabilities is not None
    arguments, pairs = read_columns(teacher, data, pairs)
    plan = suggest_training(teacher, len(arguments[0]), is_student=True, **training)
    if not is_given:
        rows, distillation = _read_rows(teacher, arguments, pairs, distillation)
    else:
        rows = read_rows_with_answers(teacher, arguments, pairs, probabilities)
    is_new = has_drawn_head(teacher)
    measure = measure_by_states if is_new else measure_by_loss
    first = batches(teacher, rows, plan.micro_batch_size, shuffle=True, seed=plan.seed).first(STARTING_BATCHES)
    with teacher._attached(teacher.adapter), seeded_weights(plan.seed):
        small, copied = make_student(teacher, student or Student(layers=tuple(layers or ())), first, measure)
        if small.second_text == "optional":
            small.pairs = pairs is not None
        if small.label_name in rows:
            small.start_scale(rows[small.label_name], rows)
        is_copied = bool(copied) and not is_new
        # With an imitation, vectors move towards the teacher's, which the copied head knows.
        if not (imitation.is_on and is_copied):
            source = batches(small, rows, validation_rows(small.max_length), shuffle=True, seed=plan.seed)
            fit_head(small, source, teacher=None if is_new else teacher, is_copied=is_copied)
        network, objective = small.network(), small.objective()
        if imitation.is_on:
            imitating = ImitationObjective(
                objective, network, teacher.network(), distillation, imitation, has_answers=is_given
            )
            steps = count_steps(small, rows, plan)
            without_answers = imitation.count_intermediate_steps(steps)
            if without_answers:
                first_plan = dataclasses.replace(plan, steps=without_answers)
                train(small, imitating.joint, imitating.without_answers(), rows, first_plan, verbose=verbose)
            second_plan = dataclasses.replace(plan, steps=steps - without_answers)
            train(small, imitating.joint, imitating, rows, second_plan, verbose=verbose)
        else:
            plain = DistillationObjective(objective, None if is_given else teacher.network(), distillation)
            train(small, network, plain, rows, plan, verbose=verbose)
    return small


def prune(
    task: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    pruning: Pruning = Pruning(),
    distillation: Distillation = Distillation(),
    verbose: int = 1,
    **training: Any,
) -> None:
    """Sets a model's smallest weights to zero, in place, while it trains on its own former answers.

    Tasks that share its encoder change, too. `pruning` sets the share and the pattern of the zeros; for the other
    arguments see `distill`. By default the training is one epoch at 5e-5. Weights that are zero already stay zero, and
    `keras_bert.fit` keeps the zeros; the calibration is dropped.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, or the model is an exported file or quantized.

    Examples:
        >>> prune(task, ["film film", "film"], batch_size=1, verbose=0)
        >>> kernel = task.model.get_layer("block_0").attention.query.kernel.numpy()
        >>> float((kernel == 0).mean())
        0.5
    """
    plan = _check_float(task, "pruned", _PRUNING_RATE, training)
    rows, distillation = _read_rows(task, data, pairs, distillation)
    steps, network = count_steps(task, rows, plan), task.network()
    with task._attached(None), _unchanged_if_failed(network) as teacher:
        masks = MagnitudePruning(network, pruning, steps)
        objective = DistillationObjective(task.objective(), teacher, distillation)
        variables, after_step = masks.variables(), masks.after_step
        train(task, network, objective, rows, plan, verbose=verbose, variables=variables, after_step=after_step)
        # The running mean of the weights may have values where the last masks have zeros.
        masks.after_step(steps + 1)


def quantize(
    task: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    recipe: RecipeName = "mixed_wi8_ai8",
    post_training: bool = False,
    quantization: Quantization | None = None,
    distillation: Distillation = Distillation(),
    verbose: int = 1,
    **training: Any,
) -> None:
    """Quantizes a model in place, while it trains on its own former answers; `task.export` then writes integers.

    Zeros of a pruned model stay zero; its calibration is dropped. Tasks that share its encoder change, too. `recipe` is
    a key of `RECIPES`, the number formats, and `quantization` has further settings, in place of it. `post_training`
    measures ranges of activations, but trains nothing: it takes `batch_size`, `accumulation` and `seed` alone. For the
    other arguments see `distill`. By default one epoch is trained at 2e-5.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, the recipe does not fit the model, or the model is an exported file
            or quantized.

    Examples:
        >>> quantize(task, ["film film", "film"], post_training=True)
        >>> task.quantization.recipe
        'mixed_wi8_ai8'
    """
    unused = sorted(training.keys() - _USED_WITHOUT_TRAINING) if post_training else []
    check("quantize", "post_training", not unused, f"be False for {', '.join(unused)}, as it trains nothing", True)
    plan = _check_float(task, "quantized", _QUANTIZATION_RATE, training)
    settings = quantization or Quantization(recipe=recipe)
    rows, distillation = _read_rows(task, data, pairs, distillation)
    network, order = task.network(), batches(task, rows, plan.micro_batch_size, shuffle=True, seed=plan.seed)
    calibration = order.first(settings.calibration_batches)
    inputs = [{name: batch[name] for name in input_names(network)} for batch in calibration]
    float_layers = (*settings.float_layers, *task.float_layers)
    with task._attached(None), _unchanged_if_failed(network) as teacher:
        after_step = keep_zeros(network)
        aware = QuantizationAware(network, inputs, settings.recipe, float_layers)
        try:
            if not post_training:
                objective = DistillationObjective(task.objective(), teacher, distillation)
                variables = aware.variables()
                train(task, network, objective, rows, plan, verbose=verbose, variables=variables, after_step=after_step)
        finally:
            ranges = aware.finish()
    task.quantization, task.calibration = QuantizationParameters(settings.recipe, ranges, float_layers), Calibration()


def _check_float(task: Task, use: str, learning_rate: float, training: dict[str, Any]) -> Training:
    """Refuses a task that is an exported file, quantized or adapted; returns the settings of the training."""
    rule = f"be merged or dropped before a model is {use}: call task.merge_adapter() or task.drop_adapter()"
    check(type(task).__name__, "adapter", task.adapter is None, rule, task.adapter and task.adapter.adaptation.kind)
    check_trainable(task, use)
    return Training(**{"precision": "auto", "epochs": 1.0, "learning_rate": learning_rate, **training})


def _read_rows(
    task: Task, data: Sequence[Any], pairs: Sequence[str] | None, distillation: Distillation
) -> tuple[Rows, Distillation]:
    """Rows for training. Texts alone get the task's own answers as labels, whose share in the loss is 0."""
    data, pairs = read_columns(task, data, pairs)
    if len(data) != 1 or not task.learns_from_texts:
        return read_rows(task, data, pairs), distillation
    features = task.encode(data[0], pairs)
    labels = task.objective().labels_from(np.stack(task.forward(features)), features)
    return {**features, **labels}, dataclasses.replace(distillation, hard_weight=0.0)


@contextlib.contextmanager
def _unchanged_if_failed(network: keras.Model) -> Iterator[keras.Model]:
    """Yields a copy of a network, whose weights the network gets back if the block fails or is interrupted."""
    copy = keras.models.clone_model(network)
    copy.set_weights(network.get_weights())
    try:
        yield copy
    except BaseException:
        network.set_weights(copy.get_weights())
        raise
