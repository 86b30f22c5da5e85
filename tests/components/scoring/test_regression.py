"""Numbers, by their order and by their line."""

import math
import types

import pytest

from components.scoring.regression import RegressionScoring, score_numbers
from components.sources.table import TextRow

SCORING = RegressionScoring()


def rows(*numbers, second=None):
    return [TextRow("x" * place, str(number), second) for place, number in enumerate(numbers, start=1)]


def test_numbers_are_correlated():
    scores = score_numbers(rows(1.0, 4.0, 9.0, 16.0), [1.0, 2.0, 3.0, 4.0])
    assert scores.metrics["spearman"] == pytest.approx(1.0)
    # By hand: the covariance 12.5 over the roots of 5 and 129.
    assert scores.metrics["pearson"] == pytest.approx(25 / math.sqrt(5 * 129))
    assert list(scores.metrics) == ["spearman", "pearson"]
    assert not scores.report
    assert scores.confusion is None


def test_one_answer_to_all_rows_orders_nothing():
    assert score_numbers(rows(0.5, 0.6), [1.0, 1.0]).metrics == {"spearman": 0.0, "pearson": 0.0}


def test_numbers_have_errors_that_correlations_do_not_show():
    truth = rows(-2.0, 0.0, 4.0, 6.0)
    right, small = (
        SCORING.score(truth, [factor * n for n in (-2.0, 0.0, 4.0, 6.0)], []).metrics for factor in (1, 1e-3)
    )
    assert list(right) == ["spearman", "pearson", "r2", "rmse", "mae"]
    assert (right["r2"], right["rmse"], right["mae"]) == (1.0, 0.0, 0.0)
    assert small["spearman"] == pytest.approx(1.0)
    assert small["mae"] == pytest.approx(0.999 * 3)
    assert small["rmse"] == pytest.approx(0.999 * math.sqrt(14))
    assert small["r2"] == pytest.approx(1 - 0.999**2 * 14 / 10)


def test_the_trivial_answer_is_the_mean_of_the_training_rows():
    name, answers = SCORING.trivial(rows(1.0, 2.0, 6.0), rows(9.0, 8.0))
    assert (name, answers) == ("training mean", [3.0, 3.0])
    assert SCORING.score(rows(9.0, 8.0), answers, []).metrics["spearman"] == 0.0


def test_pairs_have_a_baseline_of_their_own():
    train = [TextRow(text, str(number)) for text, number in (("ship sail", 1), ("cow barn", 0), ("ship barn", 0.5))] * 4
    baselines = SCORING.baselines(train, train, train)
    assert list(baselines) == ["bag of n-grams"]
    assert SCORING.score(train, baselines["bag of n-grams"](), []).metrics["spearman"] > 0.9
    pairs = [row._replace(second_text="ship sail") for row in train]
    baselines = SCORING.baselines(pairs, pairs, pairs)
    assert list(baselines) == ["bag of n-grams", "TF-IDF cosine"]
    # The cosines 1, 0 and 1/2 on the line that is nearest to the labels: in their unit.
    assert baselines["TF-IDF cosine"]()[:2] == pytest.approx([1.0, 0.0], abs=0.1)


@pytest.mark.parametrize(("second", "arguments"), [(None, None), ("z", ["z", "z"])])
def test_a_task_is_asked_for_numbers(second, arguments):
    task = types.SimpleNamespace(predict=lambda texts, pairs: [len(text) + 10 * (pairs == arguments) for text in texts])
    assert SCORING.answer(task, rows(0.0, 0.0, second=second)) == [11, 12]
