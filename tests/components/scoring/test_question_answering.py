"""Answers, by the words that they share with the right ones, counted by hand."""

import types

import numpy as np
import pytest

from components.scoring.question_answering import QuestionScoring
from components.sources.questions import Question

SCORING = QuestionScoring()


def question(number, *answers):
    return Question(str(number), "who ?", "the text", tuple((answer, 0) for answer in answers))


def test_answers_where_each_question_has_one():
    scores = SCORING.score([question(1, "the big ship"), question(2, "Rome")], ["big ship", "Roman"], [])
    assert scores.metrics == {"f1": 0.5, "exact": 0.5}
    assert scores.report == {"answer": {"f1": 0.5, "exact": 0.5, "support": 2}}


def test_answers_where_some_questions_have_none():
    questions = [question(1, "big ship"), question(2), question(3)]
    scores = SCORING.score(questions, ["ship", "", "Rome"], [])
    assert scores.metrics == pytest.approx({"f1": (2 / 3 + 1) / 3, "exact": 1 / 3})
    assert scores.report["answer"] == pytest.approx({"f1": 2 / 3, "exact": 0.0, "support": 1})
    assert scores.report["no answer"] == {"f1": 0.5, "exact": 0.5, "support": 2}


@pytest.mark.parametrize("further", [[], [question(4)]])
def test_samples_are_scored_as_all_rows(further):
    # Answers without words: SQuAD v1.1 gives them an F1 of 0, v2.0 reads no gold answer without words.
    rows = [question(1, "The"), question(2, "...", "Rome"), question(3, "big ship"), *further]
    answers = ["a", "", "ship", *("" for _ in further)]
    for metric, score in SCORING.score(rows, answers, []).metrics.items():
        measure = SCORING.sample_measure(metric, rows, answers, [])
        assert measure(np.ones((1, len(rows)), int)) == pytest.approx([score])


def test_a_task_is_asked_for_the_text_of_each_answer():
    task = types.SimpleNamespace(
        predict=lambda questions, contexts: [
            types.SimpleNamespace(text=f"{asked_question}|{context}")
            for asked_question, context in zip(questions, contexts, strict=True)
        ]
    )
    assert SCORING.answer(task, [question(1)]) == ["who ?|the text"]


def test_the_empty_answer_is_trivial():
    rows = [question(1), question(2, "Ann"), question(3, "Bob"), question(4, "Rome")]
    name, answers = SCORING.trivial(rows, rows)
    assert name == "empty answer"
    assert SCORING.score(rows, answers, []).metrics == {"f1": 0.25, "exact": 0.25}
    assert SCORING.baselines([question(1)], [question(1)], [question(1)]) == {}
