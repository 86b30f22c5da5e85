"""Batches of masked tokens to train on, and how a contestant times its steps on them."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.contestants import answer, questions

VOCABULARY, POSITIONS, PREDICTIONS = 30522, 512, 20

Batch = dict[str, np.ndarray[Any, Any]]
Step = Callable[[], float]


def make_batch(rows: int, length: int, vocabulary: int = VOCABULARY) -> Batch:
    """Random tokens without padding, and random places to predict."""
    random = np.random.default_rng(0)
    tokens = random.integers(5, vocabulary, (rows, length), dtype=np.int32)
    predictions = min(PREDICTIONS, length)
    places = [random.choice(length, predictions, replace=False) for _ in range(rows)]
    return {
        "token_ids": tokens,
        "segment_ids": np.zeros_like(tokens),
        "padding_mask": np.ones_like(tokens),
        "mask_positions": np.sort(np.array(places), axis=1).astype(np.int32),
        "mask_ids": random.integers(5, vocabulary, (rows, predictions), dtype=np.int32),
        "mask_weights": np.ones((rows, predictions), np.float32),
    }


def spread_labels(batch: Batch, nothing: int) -> Batch:
    """The labels of a batch and their weights at their places among all tokens (rows, length), `nothing` elsewhere."""
    labels, weights = np.full_like(batch["token_ids"], nothing), np.zeros(batch["token_ids"].shape, np.float32)
    np.put_along_axis(labels, batch["mask_positions"], batch["mask_ids"], axis=1)
    np.put_along_axis(weights, batch["mask_positions"], batch["mask_weights"], axis=1)
    return {"mask_ids": labels, "mask_weights": weights}


def score_everywhere(batch: Batch) -> Batch:
    """The same batch and loss, but the scores of the vocabulary are asked for at every token."""
    rows, length = batch["token_ids"].shape
    places = np.tile(np.arange(length, dtype=np.int32), (rows, 1))
    return {**batch, "mask_positions": places, **spread_labels(batch, 0)}


def serve_steps(prepare: Callable[[str], Step], least: float) -> None:
    """Answers each mode with the seconds of one step of it, on the clock and of all cores, within `least` seconds.

    `prepare` makes a mode's step, which ends when all is computed.
    """
    ready: dict[str, Step] = {}
    for mode in questions():
        if mode not in ready:
            ready[mode] = prepare(mode)
            ready[mode]()  # traces and compiles
        start, busy, calls, seconds = time.perf_counter(), time.process_time(), 0, 0.0
        while seconds < least or calls < 2:
            ready[mode]()
            calls, seconds = calls + 1, time.perf_counter() - start
        answer([seconds / calls, (time.process_time() - busy) / calls])
