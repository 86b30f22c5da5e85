import pytest

from keras_bert.metrics.regression import number_errors


def test_errors_by_hand():
    # Errors 0, -1 and 1; distances of the truth from its mean 3: -2, 0 and 2.
    errors = number_errors([1.0, 2.0, 6.0], [1.0, 3.0, 5.0])
    assert errors == pytest.approx({"r2": 1 - 2 / 8, "rmse": (2 / 3) ** 0.5, "mae": 2 / 3})


def test_the_mean_of_the_truth_explains_nothing():
    assert number_errors([3.0] * 3, [1.0, 3.0, 5.0])["r2"] == 0


@pytest.mark.parametrize(
    ("truth", "message"),
    [([1.0], "truth must hold 2 numbers, as many as predicted"), ([1.0, 1.0], "at least 2 different numbers")],
)
def test_refuses_numbers_without_errors(truth, message):
    with pytest.raises(ValueError, match=message):
        number_errors([1.0, 2.0], truth)
