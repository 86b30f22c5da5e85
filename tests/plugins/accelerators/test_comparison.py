"""Answers of an engine beside those of the processor."""

import numpy as np
import pytest

from keras_bert.accelerators.base import AcceleratorError
from plugins.accelerators.comparison import check_difference, largest_difference, make_row

EXPECTED = [{"first": np.array([0.0, 1.0]), "last": np.array([2.0, 4.0])}]


@pytest.mark.parametrize(("last", "difference"), [([2.0, 3.0], "0.5"), ([np.nan, 4.0], "nan")])
def test_the_largest_difference_is_that_of_any_output_and_nan_is_refused(last, difference):
    got = [{"first": np.array([0.0, 1.25]), "last": np.array(last)}]
    check_difference("gpu", "model.tflite", largest_difference(EXPECTED, EXPECTED), 0.0)
    with pytest.raises(
        AcceleratorError,
        match=r"^gpu answers model.tflite otherwise than the processor: the largest difference must be at most 0.1 of "
        rf"the range of the answers, got {difference}: a cause$",
    ):
        check_difference("gpu", "model.tflite", largest_difference(EXPECTED, got), 0.1, reason="a cause")


def test_every_second_row_ends_with_padding():
    inputs = {name: {"shape": (1, 9), "dtype": np.int32} for name in ("token_ids", "segment_ids", "padding_mask")}
    rng = np.random.default_rng(0)
    whole, padded = (make_row(inputs, row, 4, rng) for row in range(2))
    assert whole["padding_mask"].sum() == 9
    assert padded["padding_mask"].tolist() == [[1] * 6 + [0] * 3]
    assert not padded["segment_ids"].any()
    assert 0 < padded["token_ids"].max() <= 4
