"""Weights of golden models that nobody has to keep: drawn from the tensors' names."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def draw(name: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The tensor of a name: numbers far enough from what a new model holds that nothing can be mixed up."""
    of_norm = "norm" in name.lower().removeprefix("roberta_prelayernorm.")
    around = 1.0 if of_norm and name.endswith("weight") else 0.0
    return (around + 0.3 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)).astype("float32")
