"""The threshold for no answer: found on held-out questions, and of use on others."""

import math

import pytest

from components.examples.question_answering import find_threshold, tune_threshold
from components.scoring.question_answering import QuestionScoring
from components.sources.questions import Question
from keras_bert.tasks.answer_spans import Answer


def question(number: int, *answers: str) -> Question:
    return Question(str(number), "who ?", "the text", tuple((answer, 0) for answer in answers))


def answer(text: str, difference: float) -> Answer:
    return Answer(text, 0, len(text), 0.5, difference)


# Right answers are the surer, but all of them speak for no answer by the default threshold, 0.
QUESTIONS = [question(1, "ship"), question(2, "sail"), question(3), question(4, "mast"), question(5)]
ANSWERS = [answer("ship", 1.0), answer("sail", 2.5), answer("rope", 4.0), answer("tide", 5.0), answer("deck", math.inf)]


def test_the_threshold_parts_right_from_wrong() -> None:
    threshold = find_threshold(QUESTIONS, ANSWERS)
    assert threshold == 2.5
    given = {limit: [a.text if a.null_score_difference <= limit else "" for a in ANSWERS] for limit in (0.0, threshold)}
    assert QuestionScoring().score(QUESTIONS, given[0.0], []).metrics["f1"] == 0.4
    assert QuestionScoring().score(QUESTIONS, given[threshold], []).metrics["f1"] == 0.8


def test_where_nothing_is_answered_rightly_the_threshold_is_still_a_number() -> None:
    assert math.isfinite(find_threshold(QUESTIONS, [answer("", math.inf)] * 5))
    assert math.isfinite(find_threshold([question(1)], [answer("ship", 3.0)]))


def test_the_threshold_is_found_among_answers_to_all_questions() -> None:
    class Task:
        null_threshold: float | None = 0.0

        def predict(self, questions: list[str], contexts: list[str]) -> list[Answer]:
            assert self.null_threshold is None, "with one, some would have no answer"
            assert (questions, contexts) == (["who ?"] * 5, ["the text"] * 5)
            return ANSWERS

    task = Task()
    tune_threshold(task, QUESTIONS)
    assert task.null_threshold == pytest.approx(2.5)
