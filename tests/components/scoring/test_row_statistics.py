"""Metrics of means over rows, beside the metrics of the tasks' scoring, on samples with repeated rows."""

import numpy as np
import pytest

from components.scoring.bootstrap import Interval, make_measure, score_interval
from components.scoring.classification import ClassificationScoring
from components.scoring.multi_label import LabelSetAnswer, LabelSetScoring
from components.scoring.regression import RegressionScoring
from components.scoring.token_classification import TaggedScoring
from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence

TAGS = ["B-place", "I-place", "B-time", "I-time", "O"]


def test_samples_without_true_labels_are_left_out():
    rows = [Sentence(("a",), ("B-place",)), *(Sentence(("b",), ("O",)) for _ in range(3))]
    for metric in ("f1", "precision", "recall"):
        assert score_interval(TaggedScoring(), rows, [row.tags for row in rows], TAGS, metric) == (1.0, 1.0)
    texts = [LabelSetRow("a", ("x",)), *(LabelSetRow("b", ()) for _ in range(3))]
    sets = [LabelSetAnswer(frozenset(row.labels), {"x": float(bool(row.labels))}) for row in texts]
    for metric in ("micro_f1", "macro_f1", "average_precision"):
        assert score_interval(LabelSetScoring(), texts, sets, ["x", "y"], metric) == (1.0, 1.0)
    pairs = [TextRow("a", "yes"), TextRow("b", "no"), TextRow("c", "no")]
    labels = [row.label for row in pairs]
    assert score_interval(ClassificationScoring(), pairs, labels, ["no", "yes"], "mcc") == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize("metric", ["pearson", "r2"])
def test_samples_of_equal_numbers_are_left_out_whatever_rounding_leaves(metric):
    # Of samples whose labels are all 1.1 the mean square is not exactly the square of the mean.
    rows = [TextRow(str(number), label) for number, label in enumerate(["1.1", "1.1", "3.3"])]
    low, high = score_interval(RegressionScoring(), rows, [0.0, 0.1, 0.2], [], metric)
    assert -1000 < low < high < 1 + 1e-9
    measure, _ = make_measure(RegressionScoring(), rows, [0.3, 0.3, 0.8], [], "pearson")
    # Answers that are all alike order nothing; labels that are all alike cannot be ordered.
    assert measure(np.array([[1, 1, 1], [2, 1, 0], [0, 3, 0]])) == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)


def test_counts_of_many_labels_are_sparse():
    names = [str(number) for number in range(1000)]
    rows = [TextRow("", name) for name in names]
    statistics = ClassificationScoring().sample_measure("macro_f1", rows, names, names)
    sets = LabelSetScoring().sample_measure(
        "macro_f1", [LabelSetRow("", (name,)) for name in names], [LabelSetAnswer(frozenset(), {})] * 1000, names
    )
    assert statistics is not None
    assert sets is not None
    # Right, predicted and true, each once a row; nothing is predicted of the sets.
    assert (statistics.values.nnz, sets.values.nnz) == (3000, 1000)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_samples_of_one_number_are_left_out(metric):
    rows, answers = [TextRow("a", "0"), TextRow("b", "1")], [0.0, 1.0]
    low, high = score_interval(RegressionScoring(), rows, answers, [], metric)
    assert (low, high) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(("answer", "expected"), [("a", (0.6915, 1.0)), ("b", (0.0, 0.3085))])
def test_the_interval_of_rows_that_are_all_alike_is_exact(answer, expected):
    rows = [TextRow(str(number), "a") for number in range(10)]
    interval = score_interval(ClassificationScoring(), rows, [answer] * 10, ["a", "b"], "accuracy")
    # 0.025 ** (1 / 10), as all ten are right with this probability.
    assert interval == pytest.approx(expected, abs=1e-4)


def test_the_interval_of_a_share_is_that_of_a_binomial():
    rows = [TextRow(str(number), "a") for number in range(400)]
    answers = ["a"] * 300 + ["b"] * 100
    interval = score_interval(ClassificationScoring(), rows, answers, ["a", "b"], "accuracy")
    # 0.75 ± 1.96 sqrt(0.75 * 0.25 / 400)
    assert interval == pytest.approx(Interval(0.7076, 0.7924), abs=4e-3)
    assert interval == score_interval(ClassificationScoring(), rows, answers, ["a", "b"], "accuracy"), "seeded"
