"""Quantization-aware training of every task: weights on int8 grids, ranges for the activations, the answers kept."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from components.examples.registry import read_rows
from components.training.null_thresholds import tune_threshold
from keras_bert.compress.ranges import find_ranges, fixed_ranges, sublayers, taps
from keras_bert.layers.dense import Dense
from tests.components import tuning_job
from tests.components.tuning_job import Line

Lines = Callable[[str], Line]


def steps_of(column: np.ndarray) -> np.ndarray:
    """The weights in steps of the grid that their largest stands at the end of: 127 on either side of 0."""
    return column * 127 / np.abs(column).max()


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_weights_are_on_grids_and_activations_have_ranges(line: Lines, task: str) -> None:
    found = line(task)
    quantized = found.load("quantized")
    network = quantized.network()
    heads = {layer.name for layer in network.layers if isinstance(layer, Dense)}
    kernels = [layer.kernel for path, layer in sublayers(network, Dense).items() if path not in heads]
    # Query, key, value and output of attention, two of the feed-forward layer.
    assert len(kernels) == 6
    for kernel in map(np.asarray, kernels):
        for column in kernel.T:
            steps = steps_of(column)
            np.testing.assert_allclose(steps, steps.round(), atol=1e-3)
    ranges = find_ranges(found.quantized.path)
    assert ranges is not None
    assert set(ranges) <= set(taps(network))
    assert all(low <= 0 <= high and low < high for low, high in ranges.values())
    counts = found.quantized.manifest()["counts"]
    assert counts["validation_teacher_distance"] < 0.5


@pytest.mark.parametrize("task", ["classification", "embedding"])
def test_rounding_keeps_the_answers_of_the_student(line: Lines, task: str) -> None:
    found = line(task)
    student, quantized = (found.load(name) for name in ("student", "quantized"))
    assert (quantized.settings(), quantized.head()) == (student.settings(), student.head())
    rows = read_rows(found.examples, "train")
    features = student.encode([row.text for row in rows])
    reference, network = student.network().predict_on_batch(features), quantized.network()
    with fixed_ranges(network, find_ranges(found.quantized.path) or {}):
        rounded = network.predict_on_batch(features)
    assert student.agreement(reference, rounded, features["padding_mask"]).mean() > 0.9


def test_the_threshold_is_that_of_the_rounded_model(line: Lines) -> None:
    found = line("question_answering")
    quantized: Any = found.load("quantized")
    threshold = quantized.null_threshold
    rows = read_rows(found.examples, "validation")
    with fixed_ranges(quantized.network(), find_ranges(found.quantized.path) or {}):
        tune_threshold(quantized, rows)
    assert quantized.null_threshold == pytest.approx(threshold)
    tune_threshold(quantized, rows)
    assert quantized.null_threshold != pytest.approx(threshold), "without rounding it would be another"
    quantized.null_threshold = threshold
