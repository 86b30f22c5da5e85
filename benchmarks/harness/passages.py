"""The passages that `benchmarks.inference` asks its contestants, of this project and of others."""

from typing import Any, NamedTuple

import numpy as np

LENGTHS = (32, 64, 128)
VOCABULARY = 8000
# The end of the name of a contestant with one model for each thread.
APART = ", a model a thread"
# transformers' names of inputs, and ours.
TRANSFORMERS_INPUTS = {"input_ids": "token_ids", "attention_mask": "padding_mask", "token_type_ids": "segment_ids"}


class Load(NamedTuple):
    """The passages of an inference, and the threads that compute them."""

    rows: int
    threads: int

    @property
    def ways(self) -> dict[str, int]:
        """End of a contestant's name -> number of models that share rows and threads equally."""
        is_divisible = self.threads > 1 and self.rows % self.threads == 0
        return {"": 1, **({APART: self.threads} if is_divisible else {})}


def make_passage(length: int, rows: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    """Passages of random tokens, each input (rows, length)."""
    tokens = np.random.default_rng(length).integers(5, VOCABULARY, (rows, length), dtype=np.int32)
    return {"token_ids": tokens, "segment_ids": np.zeros_like(tokens), "padding_mask": np.ones_like(tokens)}


def make_transformers_passage(length: int, rows: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    """The passages as transformers' files take them, int64."""
    passage = make_passage(length, rows)
    return {name: passage[ours].astype("int64") for name, ours in TRANSFORMERS_INPUTS.items()}
