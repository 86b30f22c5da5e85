"""The passages that `benchmarks.inference` asks its contestants, of this project and of others."""

from typing import Any

import numpy as np

LENGTHS = (32, 64, 128)
VOCABULARY = 8000


def make_passage(length: int) -> dict[str, np.ndarray[Any, Any]]:
    """A passage of random tokens, each input (1, length)."""
    tokens = np.random.default_rng(length).integers(5, VOCABULARY, (1, length), dtype=np.int32)
    return {"token_ids": tokens, "segment_ids": np.zeros_like(tokens), "padding_mask": np.ones_like(tokens)}
