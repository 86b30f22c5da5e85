"""The cost of a pre-training step: its operations, and optionally its seconds on this machine."""

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from components.artifacts.standard import Model, PretrainingExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.training.pretraining import build_pretraining_task, pretraining_objective, row_lengths, training_batches
from keras_bert.core.config import EncoderShape
from keras_bert.options.pretraining import Generator
from keras_bert.options.training import Training
from plugins.compare.artifacts import LengthCost, PretrainingStepCosts, StepCost

if TYPE_CHECKING:
    import keras

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective
    from keras_bert.tasks.base import Task
    from keras_bert.training.step import TrainingStep

# For each shape, the steps before timing, which include compiling, and the timed steps.
_WARM, _TIMED = 5, 15


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="measurement")
def measure_step(
    examples: Input[PretrainingExamples],
    vocabulary: Input[Vocabulary],
    cost: Output[StepCost],
    start: Input[Model] | None = None,
    encoder: EncoderShape | None = None,
    training: Training = Training(learning_rate=1e-4),
    timed: bool = False,
    generator: Generator | None = None,
    span_boundary: bool = False,
    mask_decoder: bool = False,
) -> None:
    """Counts the operations of a step that `pretrain` would make, and times a few steps if `timed` is set.

    Operations are those of the products of the forward graph with all heads, for rows with their padding, times
    `PASSES_A_STEP`; validation is not counted. Seconds are those of this machine in its present state: the step runs
    once, and equal inputs reuse its result.

    The length of `training` does not matter; see `pretrain` for the other arguments.
    """
    from keras_bert.training.devices import find_strategy
    from keras_bert.training.seeds import make_deterministic
    from keras_bert.training.step import TrainingStep

    make_deterministic(training.seed)
    further: dict[str, Any] = {"generator": generator, "span_boundary": span_boundary, "mask_decoder": mask_decoder}
    strategy = find_strategy()
    with strategy.scope():
        task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
        trained, plain = pretraining_objective(task, examples, "off", **further)
    lengths = list(row_lengths(examples))
    costs = [LengthCost(length, _count(trained, plain, examples, training, length)) for length in lengths]
    if timed:
        with strategy.scope():
            task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
            trained, objective = pretraining_objective(task, examples, training.xla, **further)
        step = TrainingStep(trained, objective, training, _TIMED * len(lengths), strategy)
        for number, length in enumerate(lengths):
            report_progress(number, len(lengths), f"timing steps on rows of {length} tokens")
            seconds = _time(step, training_batches(examples, training, length))
            costs[number] = costs[number]._replace(seconds=seconds)
    cost.write(PretrainingStepCosts(costs, _bytes_an_entry(task, examples)))
    cost.counts = {key: value for key, value in costs[-1]._asdict().items() if value is not None}


def _count(
    model: "keras.Model", objective: "Objective", examples: PretrainingExamples, training: Training, length: int
) -> int:
    """The operations of a step, counted in the plain graph, which no compiler has changed."""
    import tensorflow as tf

    from plugins.compare.flops import PASSES_A_STEP, count_flops

    batch = next(iter(training_batches(examples, training, length).after(0)))
    specs = {
        name: tf.TensorSpec((training.micro_batch_size, *value.shape[1:]), value.dtype) for name, value in batch.items()
    }
    return PASSES_A_STEP * training.accumulation * count_flops(lambda given: objective(model, given, True), specs)


def _time(step: "TrainingStep", batches: "Batches") -> float:
    """The median seconds of a compiled step, with making its batch."""
    source = iter(step.devices.spread(lambda **shares: batches.after(0, **shares)))
    times = []
    for number in range(_WARM + _TIMED):
        started = time.perf_counter()
        _, norm = step.step([next(source) for _ in range(step.training.accumulation)], number + 1)
        float(norm)  # waits for the accelerator
        times.append(time.perf_counter() - started)
    return statistics.median(times[_WARM:])


def _bytes_an_entry(task: "Task", examples: PretrainingExamples) -> float:
    """The mean bytes of the tokens that are predicted in validation."""
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.training.trainer import validation_rows

    sizes = np.array([task.tokenizer.count_bytes(piece) for piece in task.tokenizer.vocabulary])
    rows = validation_rows(max(row_lengths(examples)))
    masked_sizes = [
        sizes[batch["mask_ids"].numpy()[batch["mask_weights"].numpy() == 1]]
        for batch in pretraining_batches(examples.path, "validation", rows).epoch()
    ]
    return float(np.concatenate(masked_sizes).mean())
