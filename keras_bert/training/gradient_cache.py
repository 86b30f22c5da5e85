"""Gradients of a loss over the rows of all micro-batches, in the memory of one micro-batch (Gao et al. 2021)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import keras
import tensorflow as tf

from keras_bert.objectives.base import Batch, Sums

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


@runtime_checkable
class CrossMicroBatchObjective(Protocol):
    """An objective whose loss compares rows, across micro-batches if `crosses_micro_batches` is true."""

    crosses_micro_batches: bool

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """Returns the outputs of a model for a micro-batch, see `TaskObjective.run`."""

    def find_target(self, batch: Batch) -> Any:
        """Returns the outputs of the teacher for a micro-batch; None without a teacher."""

    def select_labels(self, batch: Batch) -> dict[str, Any]:
        """Returns the entries of a micro-batch that `join_micro_batches` needs, without model inputs."""

    def join_micro_batches(self, outputs: Sequence[Any], labels: Sequence[Batch]) -> tuple[Any, dict[str, Any]]:
        """Concatenates the outputs and the labels of micro-batches to one batch."""

    def measure_joined(self, outputs: Any, target: Any, labels: Batch) -> Sums:
        """Returns sums and weights of all metrics, including the losses."""

    def weights(self, batch: Batch) -> dict[str, Any]:
        """See `Objective.weights`; `batch` holds only the labels."""


class GradientCache:
    """Runs each micro-batch twice: first for its outputs, then for its gradient when the loss of all outputs is known.

    The gradient is that of the undivided batch (Gao et al. 2021, section 3.2). Both runs of a micro-batch draw the
    same dropout: variables that a run changes, such as seed states and activation ranges, are restored in between.

    Args:
        objective: the loss that compares rows across micro-batches.
        forward: runs the model on a micro-batch in training.
        weights: the weights to train.
        states: the variables that `forward` may change.
        gradients: a variable for each weight, to which its gradient is added.
        compile_function: makes a graph function for micro-batches of any length.

    Attributes:
        used: indices of the weights with a gradient, known after the first step.
    """

    def __init__(
        self,
        objective: CrossMicroBatchObjective,
        forward: Callable[[Batch], Any],
        weights: Sequence[Any],
        states: Sequence[Any],
        gradients: Sequence[tf.Variable],
        compile_function: Compile,
    ) -> None:
        self._objective, self._states, self._gradients = objective, states, gradients
        self._weights = weights
        self.used: list[int] = []
        self._run: Any = compile_function(lambda batch: (forward(batch), objective.find_target(batch)))
        self._output_gradients = tf.function(self._differentiate_outputs, reduce_retracing=True, autograph=False)
        self._add: Any = compile_function(functools.partial(self._add_gradients, forward))

    def trace(self, spec: Any) -> None:
        """Traces both runs for micro-batches with an element spec, see `TrainingStep.trace`."""
        outputs, _ = self._run.get_concrete_function(spec).structured_outputs
        self._add.get_concrete_function(spec, outputs)

    def accumulate(self, micro_batches: Sequence[Batch], scale: Any) -> Sums:
        """Adds the gradient of a batch, times `scale`, to `gradients`; returns the sums of all metrics."""
        before, outputs, targets = [], [], []
        for micro_batch in micro_batches:
            before.append([tf.identity(state) for state in self._states])
            output, target = self._run(micro_batch)
            outputs.append(output)
            targets.append(target)
        labels = [self._objective.select_labels(micro_batch) for micro_batch in micro_batches]
        output_gradients, sums = self._output_gradients(outputs, targets, labels, scale)
        for micro_batch, output_gradient, values in zip(micro_batches, output_gradients, before, strict=True):
            for state, value in zip(self._states, values, strict=True):
                state.assign(value)
            self._add(micro_batch, output_gradient)
        return {**sums, "tokens": (sum(map(count_tokens, micro_batches)), tf.constant(float(len(micro_batches))))}

    def _differentiate_outputs(
        self, outputs: list[Any], targets: list[Any], labels: list[Batch], scale: Any
    ) -> tuple[list[Any], Sums]:
        """The gradient of the loss with respect to the outputs of each micro-batch, and the sums of all metrics."""
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            joined, batch = self._objective.join_micro_batches(outputs, labels)
            target = None if targets[0] is None else self._objective.join_micro_batches(targets, labels)[0]
            sums = self._objective.measure_joined(joined, target, batch)
            weights = self._objective.weights(batch)
            loss = tf.add_n([sums[name][0] / tf.maximum(weight, 1e-9) for name, weight in weights.items()]) * scale
        return tape.gradient(loss, outputs), sums

    def _add_gradients(self, forward: Callable[[Batch], Any], micro_batch: Batch, output_gradient: Any) -> None:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(forward(micro_batch) * output_gradient)
        gradients = tape.gradient(total, [weight.value for weight in self._weights])
        self.used = [index for index, gradient in enumerate(gradients) if gradient is not None]
        for index in self.used:
            self._gradients[index].assign_add(tf.convert_to_tensor(gradients[index]))


def count_tokens(batch: Batch) -> tf.Tensor:
    """The number of tokens of all texts in a batch, without padding, a float32 scalar."""
    masks = [mask for name, mask in batch.items() if name.endswith("padding_mask")]
    return tf.add_n([tf.reduce_sum(tf.cast(mask, tf.float32)) for mask in masks])
