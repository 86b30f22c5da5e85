"""The passages that `benchmarks.inference` asks its contestants, of this project and of others."""

from typing import Any

import numpy as np

LENGTHS = (32, 64, 128)
VOCABULARY = 8000
# transformers' names of inputs, and ours.
TRANSFORMERS_INPUTS = {"input_ids": "token_ids", "attention_mask": "padding_mask", "token_type_ids": "segment_ids"}


def make_passage(length: int) -> dict[str, np.ndarray[Any, Any]]:
    """A passage of random tokens, each input (1, length)."""
    tokens = np.random.default_rng(length).integers(5, VOCABULARY, (1, length), dtype=np.int32)
    return {"token_ids": tokens, "segment_ids": np.zeros_like(tokens), "padding_mask": np.ones_like(tokens)}


def make_transformers_passage(length: int) -> dict[str, np.ndarray[Any, Any]]:
    """The passage as transformers' files take it, int64."""
    passage = make_passage(length)
    return {name: passage[ours].astype("int64") for name, ours in TRANSFORMERS_INPUTS.items()}
