"""Differences of two models on the same rows, beside statsmodels and scipy (tests.golden.significance)."""

import json
from pathlib import Path

import pytest

from components.scoring.classification import ClassificationScoring
from components.scoring.regression import RegressionScoring
from components.scoring.significance import PairedDifference, compare_models, mcnemar_p_value
from components.sources.table import TextRow
from tests.components.scoring.paired_models import LABELS, PairedModels, draw_labels, draw_numbers

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/significance.json").read_text())
DISCORDANT = ((0, 1), (0, 6), (3, 11), (12, 12), (20, 45), (150, 210))


def compare(models, scoring, metric):
    rows = [TextRow(str(number), str(truth)) for number, truth in enumerate(models.truth)]
    labels = LABELS if scoring.has_probabilities else []
    return compare_models(scoring, rows, [models.first], [models.second], labels, metric)


@pytest.mark.parametrize(("pair", "expected"), list(zip(DISCORDANT, GOLDEN["mcnemar"], strict=True)))
def test_mcnemar_equals_statsmodels(pair, expected):
    assert mcnemar_p_value(*pair) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p_value(*reversed(pair)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("models", "scoring", "metric"),
    [(draw_labels(), ClassificationScoring(), "accuracy"), (draw_numbers(), RegressionScoring(), "spearman")],
)
def test_intervals_equal_those_of_scipy(models, scoring, metric):
    # 1,000 samples, or 2,000, beside 20,000: the ends are quantiles with an error of their own.
    assert compare(models, scoring, metric).interval == pytest.approx(GOLDEN[metric], abs=6e-3)


def test_equal_models_do_not_differ():
    models = draw_labels()
    difference = compare(models._replace(second=models.first), ClassificationScoring(), "accuracy")
    assert difference == PairedDifference(0.0, (0.0, 0.0), 1.0)
    assert not difference.is_loss_beyond(0.0)


def test_a_difference_by_chance_is_refused_at_most_at_the_stated_rate():
    # Equal models in the long run; a loss is one of the two sides of an interval of 95 %.
    trials = [draw_labels(200, errors=(0.1, 0.1), seed=seed) for seed in range(100)]
    refused = [compare(models, ClassificationScoring(), "accuracy").is_loss_beyond(0.0) for models in trials]
    # 2.5 % of 100; more than 8 come up once in 1,000 such series (binomial).
    assert sum(refused) <= 8


def test_a_real_loss_is_refused_and_one_within_the_limit_is_not():
    # 10 points of 1,000 rows.
    trials = [draw_labels(1000, errors=(0.2, 0.1), seed=seed) for seed in range(20)]
    differences = [compare(models, ClassificationScoring(), "accuracy") for models in trials]
    assert all(difference.is_loss_beyond(0.015) for difference in differences)
    assert not any(difference.is_loss_beyond(0.15) for difference in differences)


def test_few_rows_that_differ_are_left_to_mcnemar():
    # Five of 20 rows are lost and none is won: the bootstrap is sure of a loss, the exact test is not.
    truth = ["yes"] * 20
    models = PairedModels(truth, ["no"] * 5 + ["yes"] * 15, truth)
    difference = compare(models, ClassificationScoring(), "accuracy")
    assert difference.p_value == 0.0625
    assert difference.interval.high < 0
    assert not difference.is_loss_beyond(0.0)


def test_seeds_are_averaged():
    models, scoring = draw_labels(100), ClassificationScoring()
    rows = [TextRow(str(number), truth) for number, truth in enumerate(models.truth)]
    pair = [models.first, models.second]
    difference = compare_models(scoring, rows, pair, pair, LABELS, "accuracy")
    assert difference == PairedDifference(0.0, (0.0, 0.0), None)


def test_one_row_decides_nothing():
    difference = compare(PairedModels(["yes"], ["no"], ["yes"]), ClassificationScoring(), "accuracy")
    assert difference.difference == -1.0
    assert not difference.is_loss_beyond(0.5)


def test_a_difference_names_its_interval():
    assert str(PairedDifference(-0.0164, (-0.029, 0.0004), 0.0625)) == (
        "difference -1.64, 95 % interval -2.90 to +0.04, McNemar's p 0.062"
    )
