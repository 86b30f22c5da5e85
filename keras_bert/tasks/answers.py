"""Turns the best span of each row into an answer, or into no answer."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from keras_bert.tasks.answer_spans import Spans
from keras_bert.tasks.answer_windows import TokenizedTexts
from keras_bert.tasks.places import end_with_marks


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        text: the answer's part of the context, `context[start:end]`; empty for no answer.
        start: index of the first character; 0 for no answer.
        end: index after the last character; 0 for no answer.
        probability: e^score of this answer over the sum for all possible answers, 0 to 1; the score of a span is its
            start logit plus its end logit.
        null_score_difference: score of no answer minus score of the best span (`score_diff` of `run_squad.py`);
            infinite if the context has no tokens. `score_v2` chooses a `null_threshold` by it.
    """

    text: str
    start: int
    end: int
    probability: float
    null_score_difference: float


def answers_of(
    spans: Spans, tokens: TokenizedTexts, contexts: Sequence[str], null_threshold: float | None
) -> list[Answer]:
    """The best span of each row as its answer; no answer where the null score exceeds its score by the threshold."""
    has_span = np.isfinite(spans.scores)
    differences = spans.null_scores - spans.scores
    if null_threshold is None:
        silent, totals = ~has_span, np.where(has_span, spans.totals, spans.null_scores)
    else:
        silent, totals = differences > null_threshold, np.logaddexp(spans.totals, spans.null_scores)
    probabilities = np.exp(np.where(silent, spans.null_scores, spans.scores) - totals)
    answers = []
    for row, context in enumerate(contexts):
        start, end = 0, 0
        if not silent[row]:
            start = int(tokens.starts[spans.firsts[row]])
            end = end_with_marks(context, int(tokens.ends[spans.lasts[row]]))
        answers.append(Answer(context[start:end], start, end, float(probabilities[row]), float(differences[row])))
    return answers
