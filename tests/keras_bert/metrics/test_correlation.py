import pytest

from keras_bert.metrics.regression import correlations


def test_by_hand():
    # Ranks 1 3 2 4 against 1 2 3 4: 1 - 6 * 2 / (4 * 15).
    result = correlations([1, 5, 4, 100], [0.1, 0.2, 0.3, 0.4])
    assert result["spearman"] == pytest.approx(0.8)
    assert result["pearson"] == pytest.approx(14.8 / (7017 * 0.05) ** 0.5)


def test_ties_share_their_rank():
    assert correlations([1, 1, 2], [1, 1, 3])["spearman"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("predicted", "truth", "message"),
    [
        ([1.0], [1.0], "predicted must hold at least 2 different numbers, got 1 in 1 values"),
        ([1.0, 2.0], [3.0, 3.0], "truth must hold at least 2 different numbers, got 1 in 2 values"),
        ([1.0, 2.0, float("nan")], [1.0, 2.0, 3.0], "predicted must hold finite numbers, got nan at index 2"),
        ([1.0, 2.0], [float("inf"), 2.0], "truth must hold finite numbers, got inf at index 0"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"truth must hold 2 numbers, as many as predicted, got 3"),
    ],
)
def test_refuses_values_without_correlation(predicted, truth, message):
    with pytest.raises(ValueError, match=message):
        correlations(predicted, truth)
