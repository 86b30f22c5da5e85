"""Rotary position embeddings (Su et al. 2021, section 3.2.2)."""

from typing import Any

import numpy as np
from keras import ops

from keras_bert.core.tensors import Tensor


def rotary_table(length: Tensor, size: int, theta: float, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """The cosines and sines of the angles p theta^(-2 i / size) / scale of position p and pair i.

    Each is float32 (length, size).

    Both halves of the last axis have the same angles. The sines of the first half are negated, as `rotate` needs them.
    """
    rates = theta ** (-np.arange(0, size, 2) / size) / scale
    angles = ops.cast(ops.arange(length), "float32")[:, None] * rates.astype("float32")
    sines = ops.sin(angles)
    cosines = ops.cos(angles)
    return ops.concatenate([cosines, cosines], axis=-1), ops.concatenate([-sines, sines], axis=-1)


def rotate(x: Tensor, table: tuple[Any, Any]) -> Tensor:
    """Rotates the pairs (x[i], x[i + size / 2]) of each head.

    (batch, heads, length, size) -> the same shape, computed in float32: bfloat16 cannot tell near positions apart.
    """
    cosines, sines = table
    exact = ops.cast(x, "float32")
    first, second = ops.split(exact, 2, axis=-1)
    rotated = ops.add(ops.multiply(exact, cosines), ops.multiply(ops.concatenate([second, first], axis=-1), sines))
    return ops.cast(rotated, x.dtype)
