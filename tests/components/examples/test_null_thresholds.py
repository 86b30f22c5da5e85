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
QUESTIONS = [
    row
    for number in range(0, 100, 5)
    for row in (
        *(question(number, "ship"), question(number + 1, "sail"), question(number + 2)),
        *(question(number + 3, "mast"), question(number + 4)),
    )
]
ANSWERS = 20 * [
    *(answer("ship", 1.0), answer("sail", 2.5), answer("rope", 4.0), answer("tide", 5.0), answer("deck", math.inf))
]


def test_the_threshold_parts_right_from_wrong() -> None:
    threshold = find_threshold(QUESTIONS, ANSWERS)
    assert threshold == 2.5
    given = {limit: [a.text if a.null_score_difference <= limit else "" for a in ANSWERS] for limit in (0.0, threshold)}
    assert QuestionScoring().score(QUESTIONS, given[0.0], []).metrics["f1"] == 0.4
    assert QuestionScoring().score(QUESTIONS, given[threshold], []).metrics["f1"] == 0.8


def test_few_questions_move_the_threshold_less() -> None:
    """One lucky answer to one of two questions took the threshold to 40."""
    few = find_threshold(QUESTIONS[:2] + QUESTIONS[2:3], [answer("ship", -1.0), answer("sail", 40.0), ANSWERS[2]])
    assert 0 <= few < 40
    # Without a question that has none, nothing says when to give no answer.
    assert find_threshold(QUESTIONS[:2], [answer("ship", -1.0), answer("sail", 40.0)]) == 0


def test_where_nothing_is_answered_rightly_the_threshold_is_still_a_number() -> None:
    assert math.isfinite(find_threshold(QUESTIONS, [answer("", math.inf)] * 100))
    assert math.isfinite(find_threshold([question(1)], [answer("ship", 3.0)]))


def test_the_threshold_is_found_among_answers_to_all_questions() -> None:
    class Task:
        null_threshold: float | None = 0.0

        def predict(self, questions: list[str], contexts: list[str]) -> list[Answer]:
            assert self.null_threshold is None, "with one, some would have no answer"
            assert (questions, contexts) == (["who ?"] * 100, ["the text"] * 100)
            return ANSWERS

    task = Task()
    tune_threshold(task, QUESTIONS)
    assert task.null_threshold == pytest.approx(2.5)
