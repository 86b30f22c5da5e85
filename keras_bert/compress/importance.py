"""Importance of attention heads and feed-forward units for a model's loss."""

from collections.abc import Iterable
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.students import Importance
from keras_bert.layers.dense import Dense
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.tap import Tap
from keras_bert.models.encoder import blocks_of, config_of
from keras_bert.models.traces import transformed
from keras_bert.objectives.base import Batch, Sums
from keras_bert.options.compression import has_prunable_blocks


class RowLoss(Protocol):
    """The interface of the objectives that `measure_importance` takes, such as a task's or `RandomProbes`."""

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums over a batch, `loss` among them."""


def measure_importance(network: keras.Model, objective: RowLoss, batches: Iterable[Batch]) -> list[Importance]:
    """Estimates to first order how much the loss changes if a head or a unit is removed, for each block.

    The estimate is the mean over rows of |sum over tokens of a x dL/da|, where a is the output of a head or unit
    (Michel et al. 2019, equation 2; for units Molchanov et al. 2017, section 2.2), and L the loss of a row of
    `objective`: the task's, or `RandomProbes` without a task. More rows give a better estimate.
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
    """Returns the blocks of an encoder whose heads and units can be removed."""
    config = config_of(network)
    if not has_prunable_blocks(config):
        obstacle = "shared_layers" if config.variant is None else f"variant {config.variant.kind!r}"
        raise ValueError(f"heads and units can only be removed from BERT's graph, got one with {obstacle}")
    return [block for block in blocks_of(network) if isinstance(block, EncoderBlock)]


def _measure(network: keras.Model, objective: RowLoss, batch: Batch, blocks: list[EncoderBlock]) -> list[Importance]:
    """Computes the sums of |a x dL/da| over the rows of a batch."""
    gates = [_BlockGates() for _ in blocks]
    transforms: dict[Tap | Dense, Any] = {}
    for block, gate in zip(blocks, gates, strict=True):
        transforms[block.attention.context_tap] = gate.open_heads
        transforms[block.feed_forward.activation_tap] = gate.open_units
    with transformed(network, transforms), tf.GradientTape() as tape:
        for gate in gates:
            gate.tape = tape
        loss, _ = objective(network, batch, False)["loss"]
    gradients = tape.gradient(loss, [[gate.heads, gate.units] for gate in gates])
    # Of each call (rows, parts).
    return [
        Importance(*(sum(np.abs(gradient.numpy()).sum(axis=0) for gradient in calls) for calls in parts))
        for parts in gradients
    ]


class _BlockGates:
    """Factors of 1 for the heads and units of each row; their gradients are a x dL/da.

    An objective may call the network more than once, with other rows and lengths each time: each call has its factors.
    """

    def __init__(self) -> None:
        self.tape: Any = None
        self.heads: list[Any] = []
        self.units: list[Any] = []

    def open_heads(self, x: Any, training: bool) -> Any:
        """(rows, heads, length, head_size), of the same shape."""
        return x * self._add(self.heads, x.shape[0], x.shape[1])[:, :, None, None]

    def open_units(self, x: Any, training: bool) -> Any:
        """(rows x length, units) or (rows, length, units), of the same shape; the heads of these rows came before."""
        rows, units = self.heads[-1].shape[0], x.shape[-1]
        parted = tf.reshape(x, (rows, -1, units)) * self._add(self.units, rows, units)[:, None]
        return tf.reshape(parted, tf.shape(x))

    def _add(self, calls: list[Any], rows: int, width: int) -> Any:
        calls.append(tf.ones((rows, width)))
        self.tape.watch(calls[-1])
        return calls[-1]


def _add(one: Importance, other: Importance) -> Importance:
    return Importance(one.heads + other.heads, one.units + other.units)
