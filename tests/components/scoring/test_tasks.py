"""Scores of each task, counted by hand or by the libraries that define them."""

import math

import pytest

from components.dsl.errors import InputError
from components.scoring.classes.classes.classes.tasks import (
    choose_metric,
    metric_names,
    score_answers,
    score_labels,
    score_numbers,
    score_tags,
)
from components.sources.questions import Question

BIO = ["B-org", "B-per", "I-org", "I-per", "O"]


def test_two_labels_counted_by_hand() -> None:
    found = score_labels(["no", "no", "no", "yes", "yes"], ["no", "no", "yes", "yes", "no"], ["no", "yes"])
    # Of `yes`: 1 right, 1 wrongly found, 1 missed; of `no` 2, 1 and 1.
    mcc = (1 * 2 - 1 * 1) / math.sqrt(2 * 2 * 3 * 3)
    assert found.metrics == pytest.approx({"accuracy": 0.6, "macro_f1": (1 / 2 + 2 / 3) / 2, "mcc": mcc})
    assert found.report["yes"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2})
    assert found.report["no"] == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3})


def test_always_the_same_label_is_no_correlation() -> None:
    assert score_labels(["no", "yes"], ["no", "no"], ["no", "yes"]).metrics["mcc"] == 0.0


def test_three_labels_have_no_matthews_correlation() -> None:
    found = score_labels(["a", "b"], ["a", "b"], ["a", "b", "c"])
    assert found.metrics == pytest.approx({"accuracy": 1.0, "macro_f1": 1.0})
    assert found.report["c"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}


def test_numbers_are_correlated() -> None:
    found = score_numbers([1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0])
    assert found.metrics["spearman"] == pytest.approx(1.0)
    # By hand: the covariance 12.5 over the roots of 5 and 129.
    assert found.metrics["pearson"] == pytest.approx(25 / math.sqrt(5 * 129))
    assert list(found.metrics) == ["spearman", "pearson"]
    assert found.report == {}


def test_one_answer_to_all_rows_orders_nothing() -> None:
    assert score_numbers([1.0, 2.0], [0.5, 0.5]).metrics == {"spearman": 0.0, "pearson": 0.0}


def test_one_true_number_for_all_rows_is_refused() -> None:
    with pytest.raises(InputError, match=r"must hold at least 2 different numbers, got \[2.0\]"):
        score_numbers([2.0, 2.0], [1.0, 3.0])


def test_entities_are_counted_whole() -> None:
    true = [["B-per", "I-per", "O", "B-org"], ["O", "B-per"]]
    predicted = [["B-per", "O", "O", "B-org"], ["O", "B-per"]]
    found = score_tags(true, predicted, BIO)
    assert found.metrics == pytest.approx({"f1": 2 / 3, "precision": 2 / 3, "recall": 2 / 3})
    assert found.report["per"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2})
    assert found.report["org"]["f1"] == 1.0


def test_parts_of_speech_are_scored_by_words_and_an_unknown_o_is_wrong() -> None:
    found = score_tags([["NOUN", "VERB"], ["NOUN"]], [["NOUN", "O"], ["NOUN"]], ["NOUN", "VERB"])
    assert found.metrics == pytest.approx({"accuracy": 2 / 3, "macro_f1": 0.5})
    assert found.report["VERB"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}


def question(number: int, *answers: str) -> Question:
    return Question(str(number), "who ?", "the text", tuple((answer, 0) for answer in answers))


def test_answers_where_each_question_has_one() -> None:
    found = score_answers([question(1, "the big ship"), question(2, "Rome")], ["big ship", "Roman"])
    assert found.metrics == {"f1": 0.5, "exact": 0.5}
    assert found.report == {"answer": {"f1": 0.5, "exact": 0.5, "support": 2}}


def test_answers_where_some_questions_have_none() -> None:
    questions = [question(1, "big ship"), question(2), question(3)]
    found = score_answers(questions, ["ship", "", "Rome"])
    assert found.metrics == pytest.approx({"f1": (2 / 3 + 1) / 3, "exact": 1 / 3})
    assert found.report["answer"] == pytest.approx({"f1": 2 / 3, "exact": 0.0, "support": 1})
    assert found.report["no answer"] == {"f1": 0.5, "exact": 0.5, "support": 2}


@pytest.mark.parametrize(
    ("task", "labels", "names"),
    [
        ("classification", ["a", "b"], ("accuracy", "macro_f1", "mcc")),
        ("classification", ["a", "b", "c"], ("accuracy", "macro_f1")),
        ("regression", [], ("spearman", "pearson")),
        ("token_classification", BIO, ("f1", "precision", "recall")),
        ("token_classification", ["NOUN", "VERB"], ("accuracy", "macro_f1")),
        ("question_answering", [], ("f1", "exact")),
    ],
)
def test_the_first_metric_is_the_main_one(task: str, labels: list[str], names: tuple[str, ...]) -> None:
    assert metric_names(task, labels) == names
    assert choose_metric("", task, labels) == names[0]
    assert choose_metric(names[-1], task, labels) == names[-1]


def test_a_metric_that_the_task_has_not() -> None:
    message = r"metric must be one of \['accuracy', 'macro_f1'\] for classification with 3 labels, got 'mcc'"
    with pytest.raises(InputError, match=message):
        choose_metric("mcc", "classification", ["a", "b", "c"])
