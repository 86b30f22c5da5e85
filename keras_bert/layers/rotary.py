"""Positions as rotations of queries and keys (Su et al. 2024, "RoFormer", section 3.2.2)."""

from typing import Any

import numpy as np
from keras import ops


def rotary_table(length: Any, size: int, theta: float) -> tuple[Any, Any]:
    """Cosines and sines of the angles p theta^(-2 i / size) of position p and pair i, each float32 (length, size).

    Both halves of the last axis have the same angles. The sines of the first half are negative: `rotate` then needs no
    further sign.

    Args:
        length: positions, a number or a tensor.
        size: of a head, even.
        theta: base of the angles.
    """
    rates = theta ** (-np.arange(0, size, 2) / size)
    angles = ops.cast(ops.arange(length), "float32")[:, None] * rates.astype("float32")
    sines = ops.sin(angles)
    cosines = ops.cos(angles)
    return ops.concatenate([cosines, cosines], axis=-1), ops.concatenate([-sines, sines], axis=-1)


def rotate(x: Any, table: tuple[Any, Any]) -> Any:
    """Turns the pairs of each head, of which the second halves stand behind all of the first.

    (batch, heads, length, size) -> the same, worked out in float32: bfloat16 would mix up positions.
    """
    cosines, sines = table
    single = ops.cast(x, "float32")
    first, second = ops.split(single, 2, axis=-1)
    turned = ops.add(ops.multiply(single, cosines), ops.multiply(ops.concatenate([second, first], axis=-1), sines))
    return ops.cast(turned, x.dtype)
