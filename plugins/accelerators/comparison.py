"""Answers of an engine beside those of the processor, for random rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.accelerators.base import AcceleratorError


def make_row(
    inputs: Mapping[str, Mapping[str, Any]], row: int, largest_id: int, rng: np.random.Generator
) -> dict[str, Any]:
    """A row of inputs with a `shape` and a `dtype`: random ids; every second mask ends with padding; segments of 0."""
    values: dict[str, Any] = {}
    for name, details in inputs.items():
        shape, kind = details["shape"], details["dtype"]
        if "ids" in name and "segment" not in name:
            values[name] = rng.integers(0, largest_id + 1, shape).astype(kind)
            continue
        values[name] = np.full(shape, "mask" in name, kind)
        if "mask" in name and row % 2:
            values[name][..., -(shape[-1] // 3) :] = 0
    return values


def largest_difference(expected: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> float:
    """The largest difference of the rows' outputs by name, as a share of the range of the expected ones; maybe NaN."""
    differences = []
    for name in expected[0]:
        ours, theirs = (np.stack([answers[name] for answers in side]) for side in (expected, got))
        differences.append(np.abs(ours - theirs).max() / max(np.ptp(ours), 1e-6))
    # Unlike Python's `max`, it is NaN if one of them is.
    return float(np.max(differences))


def check_difference(
    name: str,
    file: str,
    difference: float,
    limit: float,
    unit: str = "of the range of the answers",
    reason: str = "",
) -> None:
    """Checks a difference from the answers of the processor; `reason` ends the message."""
    if not difference <= limit:
        raise AcceleratorError(
            f"{name} answers {file} otherwise than the processor: the largest difference must be at most {limit:g} "
            f"{unit}, got {difference:.3g}{reason and f': {reason}'}"
        )
