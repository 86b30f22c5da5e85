"""Importance of attention heads and feed-forward units for a model's loss."""

from collections.abc import Iterable
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.students import Importance
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.tap import Tap
from keras_bert.models.encoder import blocks_of, config_of
from keras_bert.models.traces import forget_traces
from keras_bert.objectives.base import Batch, Sums
from keras_bert.options.student import may_lose_parts


class RowLoss(Protocol):
    """The interface of the objectives that `measure_importance` takes, such as a task's or `RandomProbes`."""

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """Returns the model inputs of a batch, by name."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums over a batch, `loss` among them."""


def measure_importance(network: keras.Model, objective: RowLoss, batches: Iterable[Batch]) -> list[Importance]:
    """Estimates to first order how much the loss changes if a head or a unit is removed from a model.

    The estimate is the mean over rows of |sum over tokens of a x dL/da|, where a is the output of a head or unit
    (Michel et al. 2019, equation 2; for units Molchanov et al. 2017, section 2.2).

    Args:
        network: a model with one output, on an encoder of BERT's graph without shared layers.
        objective: the task's objective, or `RandomProbes` without a task; L is its loss of a row.
        batches: inputs and labels; more rows give a better estimate.

    Returns:
        An `Importance` for each block.

    Raises:
        ValueError: there are no batches, or the encoder has another graph or shared layers.

    Examples:
        >>> batch = task.encode(["film film", "film"]) | {"label": [1, 0]}
        >>> (importance,) = measure_importance(task.model, task.objective(), [batch])  # of the single block
        >>> importance.heads.shape, importance.units.shape
        ((2,), (16,))
    """
    blocks = prunable_blocks(network)
    totals, rows = [Importance(np.zeros(0), np.zeros(0))] * len(blocks), 0
    for batch in batches:
        sums = _measure(network, objective, batch, blocks)
        totals = sums if not rows else [_add(*pair) for pair in zip(totals, sums, strict=True)]
        rows += int(batch["padding_mask"].shape[0])
    if not rows:
        raise ValueError("measure_importance.batches must hold at least one batch, got none")
    return [Importance(total.heads / rows, total.units / rows) for total in totals]


def prunable_blocks(network: keras.Model) -> list[EncoderBlock]:
    """Returns the blocks of an encoder whose heads and units can be removed.

    Raises:
        ValueError: its graph is not BERT's, or its layers share one block.

    Examples:
        >>> [block.name for block in prunable_blocks(task.model)]
        ['block_0']
    """
    config = config_of(network)
    if not may_lose_parts(config):
        obstacle = "shared_layers" if config.variant is None else f"variant {config.variant.kind!r}"
        raise ValueError(f"heads and units can only be removed from BERT's graph, got one with {obstacle}")
    return [block for block in blocks_of(network) if isinstance(block, EncoderBlock)]


def _measure(network: keras.Model, objective: RowLoss, batch: Batch, blocks: list[EncoderBlock]) -> list[Importance]:
    """Computes the sums of |a x dL/da| over the rows of a batch."""
    gates: dict[Tap, _Gates] = {}
    for block in blocks:
        gates[block.attention.context_tap] = _Gates(by_head=True)
        gates[block.feed_forward.activation_tap] = _Gates(by_head=False)
    rows = int(objective.inputs(network, batch)["padding_mask"].shape[0])
    try:
        for tap, gate in gates.items():
            gate.rows, tap.transform = rows, gate
        forget_traces(network)
        with tf.GradientTape() as tape:
            for gate in gates.values():
                gate.tape = tape
            loss, _ = objective(network, batch, False)["loss"]
        gradients = tape.gradient(loss, [gate.values for gate in gates.values()])
    finally:
        for tap in gates:
            tap.transform = None
        forget_traces(network)
    sums = [np.abs(gradient.numpy()).sum(axis=0) for gradient in gradients]
    return [Importance(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]


class _Gates:
    """Factors of 1 for each row at a tap; their gradients are a x dL/da."""

    def __init__(self, *, by_head: bool) -> None:
        self._by_head = by_head
        self.rows = 0
        self.tape: Any = None
        self.values: Any = None

    def __call__(self, x: Any, training: bool) -> Any:
        """(batch, heads, length, head_size), or (batch x length, units)."""
        units = x.shape[1]
        self.values = tf.ones((self.rows, units))
        self.tape.watch(self.values)
        if self._by_head:
            return x * self.values[:, :, None, None]
        parted = tf.reshape(x, (self.rows, -1, units)) * self.values[:, None]
        return tf.reshape(parted, tf.shape(x))


def _add(one: Importance, other: Importance) -> Importance:
    return Importance(one.heads + other.heads, one.units + other.units)
