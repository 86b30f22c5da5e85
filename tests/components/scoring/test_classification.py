"""Labels, counted by hand."""

import math
import types

import pytest
from sklearn.metrics import f1_score

from components.scoring.classification import ClassificationScoring, score_labels
from components.sources.table import TextRow

SCORING = ClassificationScoring()


def test_scores_of_a_case_counted_by_hand():
    scores = score_labels([*"aabbc"], [*"abbba"], [*"abc"])
    # F1 of a: precision 1/2, recall 1/2; of b: 2/3 and 1; c is never predicted.
    assert scores.metrics == pytest.approx({"accuracy": 0.6, "macro_f1": (0.5 + 0.8 + 0.0) / 3})
    assert scores.confusion == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert scores.report["b"] == pytest.approx({"precision": 2 / 3, "recall": 1.0, "f1": 0.8, "support": 2})


def test_two_labels_counted_by_hand():
    scores = score_labels(["no", "no", "no", "yes", "yes"], ["no", "no", "yes", "yes", "no"], ["no", "yes"])
    # Of `yes`: 1 right, 1 wrongly found, 1 missed; of `no` 2, 1 and 1.
    mcc = (1 * 2 - 1 * 1) / math.sqrt(2 * 2 * 3 * 3)
    assert scores.metrics == pytest.approx({"accuracy": 0.6, "macro_f1": (1 / 2 + 2 / 3) / 2, "mcc": mcc})
    assert scores.report["yes"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2})
    assert scores.report["no"] == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3})


@pytest.mark.parametrize("true", [["no", "yes"], ["no", "no"]])
@pytest.mark.filterwarnings("error")
def test_always_the_same_label_is_no_correlation(true):
    assert score_labels(true, ["no", "no"], ["no", "yes"]).metrics["mcc"] == 0.0


def test_a_label_that_is_neither_true_nor_predicted_is_no_class_of_the_mean():
    scores = score_labels(["a", "b"], ["a", "b"], ["a", "b", "c"])
    assert scores.metrics == {"accuracy": 1.0, "macro_f1": 1.0}, "three labels have no Matthews correlation, either"
    assert scores.report["c"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    assert scores.confusion == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize(("true", "predicted"), [("aab", "acb"), ("acb", "aab")])
def test_a_label_that_is_only_true_or_only_predicted_counts(true, predicted):
    scores = score_labels([*true], [*predicted], [*"abcd"]).metrics["macro_f1"]
    assert scores == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert scores == pytest.approx(f1_score([*true], [*predicted], average="macro"))


def test_the_trivial_answer_is_the_commonest_of_the_training_rows():
    train = [TextRow("a", "yes"), TextRow("b", "yes"), TextRow("c", "no")]
    test = [TextRow("d", "no"), TextRow("e", "yes"), TextRow("f", "no")]
    name, answers = SCORING.trivial(train, test)
    assert (name, answers) == ("majority class", ["yes"] * 3)
    assert SCORING.score(test, answers, ["no", "yes"]).metrics["accuracy"] == pytest.approx(1 / 3)


def test_pairs_have_a_baseline_of_their_own():
    rows = [TextRow("ship sail", "yes"), TextRow("cow barn", "no")] * 8
    assert list(SCORING.baselines(rows, rows, rows)) == ["bag of n-grams"]
    pairs = [row._replace(second_text="ship sail") for row in rows]
    baselines = SCORING.baselines(pairs, pairs, pairs)
    assert list(baselines) == ["bag of n-grams", "TF-IDF cosine"]
    assert all(answer() == ["yes", "no"] * 8 for answer in baselines.values())


@pytest.mark.parametrize(("second", "arguments"), [(None, None), ("z", ["z", "z"])])
def test_a_task_is_asked_for_labels(second, arguments):
    task = types.SimpleNamespace(
        predict=lambda texts, pairs: [types.SimpleNamespace(label=f"{text}{pairs == arguments}") for text in texts]
    )
    assert SCORING.answer(task, [TextRow("x", "", second), TextRow("y", "", second)]) == ["xTrue", "yTrue"]
