"""Finds the best span of each row by its start and end logits (Devlin et al. 2019, sections 4.2 and 4.3)."""

import dataclasses
import unicodedata
from collections.abc import Sequence

import numpy as np

from keras_bert.tasks.answer_windows import TokenizedTexts, Windows
from keras_bert.tasks.base import Array


def end_with_marks(text: str, end: int) -> int:
    """The end of a part of a text, moved behind the marks that belong to its last character.

    Marks are the characters of Unicode's category M: accents, vowel signs of Devanagari and Thai, variation selectors.
    A lowercasing tokenizer strips them, so that no token covers them. The page of `keras_bert.clients` has the same
    rule, `endWithMarks` in `answers.js`.
    """
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end


@dataclasses.dataclass(frozen=True)
class Spans:
    """The best span of each window or row.

    Attributes:
        scores: start logit plus end logit; -inf where there is no span.
        firsts: index of the span's first token in `contexts.ids`.
        lasts: index of the span's last token in `contexts.ids`.
        totals: logarithm of the sum of e^score over all possible spans.
        null_scores: score of `[CLS]`, which means no answer; for a row the smallest score of its windows.
    """

    scores: Array
    firsts: Array
    lasts: Array
    totals: Array
    null_scores: Array


def best_spans(logits: Array, windows: Windows, widest: Array, max_answer_length: int) -> Spans:
    """The best span of each window, inside the context and with its start in the window with the most context.

    Logits of start and end are (windows, length, 2); `widest` is the result of `widest_windows`.
    """
    count, length, _ = logits.shape
    logits = logits.astype("float64")
    places = np.arange(length) - windows.columns[:, None]
    inside = (places >= 0) & (places < windows.lengths[:, None])
    tokens = np.where(inside, places + windows.firsts[:, None], -1)
    may_start = inside & (widest[tokens] == windows.numbers[:, None])
    starts, ends = (np.where(allowed, logits[:, :, side], -np.inf) for side, allowed in enumerate((may_start, inside)))
    ends = np.pad(ends, ((0, 0), (0, max_answer_length - 1)), constant_values=-np.inf)
    ends = np.lib.stride_tricks.sliding_window_view(ends, max_answer_length, axis=1)
    scores = (starts[:, :, None] + ends).reshape(count, length * max_answer_length)
    best = scores.argmax(axis=1)
    every = np.arange(count)
    top = scores[every, best]
    first = tokens[every, best // max_answer_length]
    with np.errstate(divide="ignore"):
        totals = top + np.log(np.exp(scores - np.where(np.isinf(top), 0, top)[:, None]).sum(axis=1))
    return Spans(top, first, first + best % max_answer_length, totals, logits[:, 0].sum(axis=1))


def best_of_rows(parts: list[Spans], rows: Array) -> Spans:
    """The best span of each row, from the spans of all windows in order; and the row of each window (windows,)."""
    fields = (np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(Spans))
    scores, firsts, lasts, totals, null_scores = fields
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    chosen = np.lexsort((-scores, rows))[begins]
    totals = np.logaddexp.reduceat(totals, begins)
    return Spans(scores[chosen], firsts[chosen], lasts[chosen], totals, np.minimum.reduceat(null_scores, begins))


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
