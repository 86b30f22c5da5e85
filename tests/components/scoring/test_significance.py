"""Standard errors of differences, beside those that are known."""

import random
import statistics

import pytest

from components.scoring.classification import ClassificationScoring
from components.scoring.regression import RegressionScoring
from components.scoring.significance import standard_error
from components.sources.table import TextRow

LABELS = ["no", "yes"]


def labelled(count: int) -> list[TextRow]:
    return [TextRow(str(number), LABELS[number % 2]) for number in range(count)]


def test_scores_of_rows_are_paired() -> None:
    rows = labelled(100)
    right = [row.label for row in rows]
    wrong = ["yes", "no", *right[2:]]
    # Differences are 1 in two rows and 0 in 98.
    expected = statistics.stdev([1] * 2 + [0] * 98) / 10
    error = standard_error(ClassificationScoring(), rows, [right], [wrong], LABELS, "accuracy")
    assert error == pytest.approx(expected)
    assert standard_error(ClassificationScoring(), rows, [wrong], [wrong], LABELS, "accuracy") == 0.0
    # Of two seeds the mean: only one of them is wrong.
    halved = standard_error(ClassificationScoring(), rows, [right], [wrong, right], LABELS, "accuracy")
    assert halved == pytest.approx(expected / 2)


def test_other_metrics_are_drawn_again() -> None:
    chance = random.Random(0)
    rows = [TextRow(str(number), str(chance.gauss(0, 1))) for number in range(300)]
    right = [float(row.label) for row in rows]
    noisy = [number + chance.gauss(0, 0.5) for number in right]
    scoring = RegressionScoring()
    error = standard_error(scoring, rows, [right], [noisy], [], "mae")
    # A mean over rows, of which the standard error is known.
    errors = [abs(one - other) for one, other in zip(right, noisy, strict=True)]
    assert error == pytest.approx(statistics.stdev(errors) / 300**0.5, rel=0.25)
    assert error == standard_error(scoring, rows, [right], [noisy], [], "mae"), "the rows are drawn with a fixed seed"
    assert standard_error(scoring, rows, [noisy], [noisy], [], "spearman") == 0.0


def test_draws_of_one_number_alone_are_left_out() -> None:
    rows = [TextRow("a", "0"), TextRow("b", "1")]
    assert standard_error(RegressionScoring(), rows, [[0.0, 1.0]], [[0.0, 0.5]], [], "pearson") == pytest.approx(0.0)
