"""From the best span of each row to the answer that it is, or to none."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from keras_bert.tasks.answer_spans import Spans
from keras_bert.tasks.answer_windows import Pieces


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        text: as it stands in the context, `context[start:end]`; empty for no answer.
        start: its first character; 0 for no answer.
        end: the character after its last; 0 for no answer.
        probability: e^score of this answer over the sum of all that may be given, 0 to 1; a span's score is its start
            logit plus its end logit.
        null_score_difference: score of no answer minus that of the best span (`score_diff` of `run_squad.py`);
            infinite if the context has no pieces. With it a `null_threshold` is found, see `score_v2`.
    """

    text: str
    start: int
    end: int
    probability: float
    null_score_difference: float


def answers_of(spans: Spans, pieces: Pieces, contexts: Sequence[str], null_threshold: float | None) -> list[Answer]:
    """The spans of the rows as answers, or none, where the null score is that much greater."""
    found = np.isfinite(spans.scores)
    differences = spans.null_scores - spans.scores
    if null_threshold is None:
        silent, totals = ~found, np.where(found, spans.totals, spans.null_scores)
    else:
        silent, totals = differences > null_threshold, np.logaddexp(spans.totals, spans.null_scores)
    probabilities = np.exp(np.where(silent, spans.null_scores, spans.scores) - totals)
    answers = []
    for row, context in enumerate(contexts):
        start, end = (
            (0, 0) if silent[row] else (int(pieces.starts[spans.firsts[row]]), int(pieces.ends[spans.lasts[row]]))
        )
        answers.append(Answer(context[start:end], start, end, float(probabilities[row]), float(differences[row])))
    return answers
