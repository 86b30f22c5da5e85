"""What a step of pre-training costs: its operations, and, if asked for, its seconds on this machine."""

import json
import statistics
import time
from typing import TYPE_CHECKING, Any

from components.artifacts.model import Model
from components.artifacts.pretraining_examples import PretrainingExamples
from components.artifacts.step_cost import COST_FILE, StepCost
from components.artifacts.vocabulary import Vocabulary
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.pretraining import (
    build_pretraining_task,
    pretraining_objective,
    row_lengths,
    training_batches,
)
from keras_bert.config import EncoderShape
from keras_bert.options.generator import Generator
from keras_bert.options.training import Training

if TYPE_CHECKING:
    import keras

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective
    from keras_bert.tasks.base import Task
    from keras_bert.training.trainer import Trainer

# Steps of a shape that are not timed, as the first ones are compiled, and steps that are.
_WARM, _TIMED = 5, 15


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), alone=True)
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
    """Counts the operations of a step that `pretrain` would make, and times a few where that is asked for.

    Operations are those of the products of the forward graph as it is built, of all heads and for rows padded as they
    will be, times `PASSES_A_STEP`; validation is left out. Seconds hold for this machine in the state that it is in:
    they are taken once, and found again by whoever asks with the same inputs.

    Args:
        examples: what `mask_examples` writes.
        vocabulary: the pieces that their ids stand for.
        cost: of a step on rows of each length.
        start: as `pretrain` takes it, and so is the encoder.
        encoder: see there.
        training: how to train; how long does not matter.
        timed: whether to make steps.
        generator: as `pretrain` takes it.
        span_boundary: see there.
        mask_decoder: see there.

    Raises:
        ValueError: there is neither `start` nor `encoder`, or both, or a graph whose operations cannot be counted.
        InputError: what to go on from has fewer positions than the rows, or no pooler for pairs.
    """
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import Trainer, make_deterministic

    make_deterministic(training.seed)
    further: dict[str, Any] = {"generator": generator, "span_boundary": span_boundary, "mask_decoder": mask_decoder}
    strategy = find_strategy()
    with strategy.scope():
        task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
        trained, plain = pretraining_objective(task, examples, "off", **further)
    lengths = list(row_lengths(examples))
    entries: list[dict[str, float]] = [
        {"length": length, "flops": _count(trained, plain, examples, training, length)} for length in lengths
    ]
    if timed:
        with strategy.scope():
            task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
            trained, objective = pretraining_objective(task, examples, training.xla, **further)
        trainer = Trainer(trained, objective, training, _TIMED * len(lengths), strategy)
        for number, (length, entry) in enumerate(zip(lengths, entries, strict=True)):
            report_progress(number, len(entries), f"timing steps on rows of {length} tokens")
            entry["seconds"] = _time(trainer, training_batches(examples, training, length))
    content = {"lengths": entries, "bytes_a_piece": _bytes_a_piece(task, examples)}
    cost.file(COST_FILE).write_text(json.dumps(content, indent=1) + "\n")
    cost.counts = entries[-1]


def _count(
    model: "keras.Model", objective: "Objective", examples: PretrainingExamples, training: Training, length: int
) -> int:
    """Operations of a step, whatever its arithmetic: of the plain graph, which no compiler has changed."""
    import tensorflow as tf

    from keras_bert.training.flops import PASSES_A_STEP, count_flops

    batch = next(iter(training_batches(examples, training, length).after(0)))
    specs = {name: tf.TensorSpec((training.part_size, *value.shape[1:]), value.dtype) for name, value in batch.items()}
    forward = count_flops(lambda given: objective(model, given, True), specs)
    return PASSES_A_STEP * training.accumulation * forward


def _time(trainer: "Trainer", batches: "Batches") -> float:
    """The median seconds of a step with its batch, once it is compiled."""
    source = iter(trainer.devices.spread(lambda **shares: batches.after(0, **shares)))
    times = []
    for number in range(_WARM + _TIMED):
        began = time.perf_counter()
        _, norm = trainer.step([next(source) for _ in range(trainer.training.accumulation)], number + 1)
        float(norm)  # accelerators are done when somebody reads
        times.append(time.perf_counter() - began)
    return statistics.median(times[_WARM:])


def _bytes_a_piece(task: "Task", examples: PretrainingExamples) -> float:
    """The mean size of the pieces that are predicted in validation, of which the loss is the mean, too."""
    import numpy as np

    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.training.trainer import validation_rows

    sizes = np.array([task.tokenizer.count_bytes(piece) for piece in task.tokenizer.vocabulary])
    rows = validation_rows(max(row_lengths(examples)))
    found = [
        sizes[batch["mask_ids"].numpy()[batch["mask_weights"].numpy() == 1]]
        for batch in pretraining_batches(examples.path, "validation", rows).epoch()
    ]
    return float(np.concatenate(found).mean())
