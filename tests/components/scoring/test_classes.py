"""Scores by hand, and the two baselines."""

import pytest
from sklearn.metrics import f1_score

from components.scoring.classes.classes.classes.classes import (
    Row,
    score,
    score_bag_of_words,
    score_majority,
    time_passages,
)


def test_scores_of_a_case_counted_by_hand() -> None:
    found = score([0, 0, 1, 1, 2], [0, 1, 1, 1, 0], 3)
    assert found["accuracy"] == 0.6
    # F1 of class 0: precision 1/2, recall 1/2; of class 1: 2/3 and 1; class 2 is never predicted.
    assert found["macro_f1"] == pytest.approx((0.5 + 0.8 + 0.0) / 3)
    assert found["confusion"] == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]


def test_a_label_that_is_neither_true_nor_predicted_is_no_class_of_the_mean() -> None:
    found = score([0, 0], [0, 0], 2)
    assert found["macro_f1"] == 1.0
    assert found["confusion"] == [[2, 0], [0, 0]]


@pytest.mark.parametrize(("true", "predicted"), [([0, 0, 1], [0, 2, 1]), ([0, 2, 1], [0, 0, 1])])
def test_a_label_that_is_only_true_or_only_predicted_counts(true: list[int], predicted: list[int]) -> None:
    assert score(true, predicted, 4)["macro_f1"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert score(true, predicted, 4)["macro_f1"] == pytest.approx(f1_score(true, predicted, average="macro"))


def test_the_majority_is_that_of_the_training_rows() -> None:
    train = [Row("a", "", 1), Row("b", "", 1), Row("c", "", 0)]
    assert score_majority(train, [Row("d", "", 0), Row("e", "", 1), Row("f", "", 0)], 2)["accuracy"] == pytest.approx(
        1 / 3
    )


def test_a_bag_of_words_learns_words_of_both_texts() -> None:
    train = [Row("this", "ship", 0), Row("this", "sail ship", 0), Row("this", "cow", 1), Row("this", "cow barn", 1)] * 5
    assert score_bag_of_words(train, [Row("this", "barn", 1), Row("this", "sail", 0)], 2)["accuracy"] == 1.0


def test_every_passage_is_timed_after_a_first_pass() -> None:
    calls: list[int] = []
    milliseconds = time_passages(lambda token: calls.append(token), [{"token": 1}, {"token": 2}])
    assert calls == [1, 2, 1, 2]
    assert milliseconds >= 0
