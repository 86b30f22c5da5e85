"""Chooses the threshold above which a question gets no answer (Devlin et al. 2019, section 4.3)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.sources.questions import Question

if TYPE_CHECKING:
    from keras_bert.tasks.answers import Answer
    from keras_bert.tasks.question_answering import QuestionAnswering


def tune_threshold(task: "QuestionAnswering", questions: Sequence[Question]) -> None:
    """Sets the task's `null_threshold` to the one with the best F1 on held-out questions."""
    # Without a threshold every question gets an answer, whose score the threshold is compared with.
    task.null_threshold = None
    answers = task.predict([row.question for row in questions], [row.context for row in questions])
    task.null_threshold = find_threshold(questions, answers)


def find_threshold(questions: Sequence[Question], answers: Sequence["Answer"]) -> float:
    """The `null_threshold` with the best F1, as the official script of SQuAD v2.0 finds it.

    `answers` are those without a threshold.
    """
    from keras_bert.metrics.squad import score_v2

    golds = {row.id: [text for text, _ in row.answers] for row in questions}
    pairs = list(zip(questions, answers, strict=True))
    texts = {row.id: answer.text for row, answer in pairs}
    return score_v2(texts, golds, {row.id: answer.null_score_difference for row, answer in pairs})["best_f1_thresh"]
