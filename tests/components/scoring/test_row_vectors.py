"""Vectors of rows that new rows are compared with."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from components.scoring.row_vectors import project_vectors
from components.sources.retrieval import QueryRow

WIDTH, COUNT = 10_000, 1000


def test_sparse_vectors_are_projected_in_blocks():
    """All vectors of the vocabulary's width together took a gigabyte."""
    chance = np.random.default_rng(0)

    def outputs(texts, seconds, keep):
        return (chance.normal(size=WIDTH).astype("float32") for _ in texts)

    task = SimpleNamespace(
        name="retrieval", second_text="compared", output_name="embedding", model=object(), outputs=outputs
    )
    rows = [QueryRow(f"query {number}", (f"passage {number}",)) for number in range(COUNT)]
    tracemalloc.start()
    try:
        vectors = project_vectors(task, Path("model.tflite"), rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < WIDTH * 2 * COUNT * 8 / 4
    assert vectors.shape == (2 * COUNT, 64)
    # The projection keeps lengths, in units of the square root of the width.
    assert np.linalg.norm(vectors, axis=1).mean() == pytest.approx(8.0, rel=0.02)
