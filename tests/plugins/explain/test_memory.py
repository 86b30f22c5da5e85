"""Peak memory of attention: one full matrix, and working arrays of one layer."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

from keras_bert.families.longformer.settings import Longformer
from plugins.explain.attention import attentions
from plugins.explain.heads import head_statistics
from tests.keras_bert.interop.checkpoints import CONFIG, make_task

LENGTH, LAYERS, HEADS = 256, 8, 2
# Of float32 matrices of all layers and heads.
FULL = LAYERS * HEADS * LENGTH**2 * 4


@pytest.fixture(scope="module")
def task(tokenizer):
    sizes = {"num_layers": LAYERS, "num_heads": HEADS, "max_length": LENGTH}
    config = dataclasses.replace(CONFIG, **sizes, variant=Longformer(window=32))
    task = make_task("classification", config, tokenizer)
    list(attentions(task, ["a"]))  # imports and builds
    return task


def peak(function):
    """The largest part of a full matrix that NumPy's arrays took at once; tensors of TensorFlow are not counted."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / FULL
    finally:
        tracemalloc.stop()


def test_matrices_are_filled_and_statistics_copied_layer_by_layer(task):
    def read():
        for attention in attentions(task, ["a " * LENGTH] * 2):
            assert attention.weights.shape == (LAYERS, HEADS, LENGTH, LENGTH)
            del attention

    assert peak(read) < 1.5
    assert peak(lambda: head_statistics(task, ["a " * LENGTH] * 2, distances=False)) < 2
    assert peak(lambda: [np.ones(FULL, "uint8") for _ in range(3)]) == pytest.approx(3, rel=0.1)
