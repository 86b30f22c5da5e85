"""Masking strategies: single tokens, whole words or spans of words; vectorized over rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_bert.masking.row_random import RowRandom

# Joshi et al. 2020, section 3.1: span lengths in words, geometric with p = 0.2 and at most 10. As in their code, the
# distribution is truncated at 10 and normalized, which gives their mean of 3.8; min(length, 10) would not.
_SPAN_P = 0.2
_LONGEST_SPAN = 10
_SPAN_SHARES = _SPAN_P * (1 - _SPAN_P) ** np.arange(_LONGEST_SPAN)
_SPAN_STEPS = np.cumsum(_SPAN_SHARES / _SPAN_SHARES.sum())[:-1]
# Limits the loop for rows with a remaining budget that is smaller than every word.
_MOST_TRIES = 100

_NEVER = np.uint64(2**64 - 1)
# The bits that hold a position. A row has less than 65,535 tokens, so that no position turns a number into `_NEVER`.
_PLACE = np.uint64(2**16 - 1)

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class WordSpans(NamedTuple):
    """The words of a batch as ranges of tokens, row by row.

    Attributes:
        starts: (words,) index of a word's first token in the flattened batch.
        sizes: (words,) number of tokens of a word.
        numbers: (batch, length) index of the word that a token belongs to; undefined for tokens outside of words.
        firsts: (batch + 1,) index of the first word of every row, then the number of words.
    """

    starts: Numbers
    sizes: Numbers
    numbers: Numbers
    firsts: Numbers


def find_words(candidates: Flags, continues: Flags) -> WordSpans:
    """Groups candidates into words; both arguments are (batch, length).

    A candidate begins a word unless it continues one and the token before it is also a candidate: if the beginning of a
    word was truncated, the rest counts as a word.
    """
    inside = candidates & continues
    inside[:, 0] = False
    inside[:, 1:] &= candidates[:, :-1]
    begins = candidates & ~inside
    ends = candidates.copy()
    ends[:, :-1] &= ~inside[:, 1:]
    starts = np.flatnonzero(begins)
    numbers = np.cumsum(begins.ravel()).reshape(begins.shape) - 1
    firsts = np.concatenate([[0], np.cumsum(begins.sum(axis=1))])
    return WordSpans(starts, np.flatnonzero(ends) + 1 - starts, numbers, firsts)


def choose_tokens(candidates: Flags, budget: Numbers, random: RowRandom) -> Flags:
    """Chooses `budget` (batch,) candidates of every row uniformly at random; returns (batch, length) bool."""
    order = _shuffled_places(candidates, random)
    width = int(budget.max(initial=0))
    if width == 0:
        return np.zeros_like(candidates)
    part = np.partition(order, width - 1, axis=1)[:, :width] if width < order.shape[1] else order.copy()
    part.sort(axis=1)
    last = np.take_along_axis(part, np.maximum(budget - 1, 0)[:, None], axis=1)
    return candidates & (order <= last) & (budget > 0)[:, None]


def choose_words(candidates: Flags, continues: Flags, budget: Numbers, random: RowRandom) -> Flags:
    """Chooses whole words of every row in random order, and skips those above the remaining budget: (batch, length).

    This is `do_whole_word_mask` of google-research/bert. A row in which every word exceeds the budget gets no choice.
    """
    words = find_words(candidates, continues)
    begins = np.zeros(candidates.size, bool)
    begins[words.starts] = True
    order = np.sort(_shuffled_places(begins.reshape(candidates.shape), random), axis=1)
    taken = np.zeros(len(words.starts), bool)
    left = budget.copy()
    active = np.arange(len(candidates))
    for rank in range(candidates.shape[1]):
        key = order[active, rank]
        active, key = active[key != _NEVER], key[key != _NEVER]
        if not len(active):
            break
        word = words.numbers[active, (key & _PLACE).astype(np.int64)]
        fits = words.sizes[word] <= left[active]
        taken[word[fits]] = True
        left[active[fits]] -= words.sizes[word[fits]]
        active = active[left[active] > 0]
    return candidates & taken[words.numbers] if len(taken) else np.zeros_like(candidates)


def choose_spans(candidates: Flags, continues: Flags, budget: Numbers, random: RowRandom) -> Numbers:
    """Chooses spans of whole words up to the budget of every row (Joshi et al. 2020, section 3.1).

    A span begins at a random word and has a random length. It ends early before a word that is in another span, that
    exceeds the remaining budget, or that does not directly follow. The result (batch, length) is the number of the span
    that contains a token, counted from 1 in every row; 0 outside of spans.
    """
    words = find_words(candidates, continues)
    span_of = np.zeros(len(words.starts), np.int64)
    left = budget.copy()
    spans = np.zeros(len(candidates), np.int64)
    counts = np.diff(words.firsts)
    active = np.flatnonzero((left > 0) & (counts > 0))
    for _ in range(_MOST_TRIES):
        if not len(active):
            break
        draw = random.uniform(2, active)
        size = np.searchsorted(_SPAN_STEPS, draw[:, 0], side="right") + 1
        word = words.firsts[active] + (draw[:, 1] * counts[active]).astype(np.int64)
        before = left[active]
        _take_span(words, span_of, left, spans[active] + 1, active, word, size)
        spans[active] += left[active] < before
        active = active[left[active] > 0]
    return np.where(candidates, span_of[words.numbers] if len(span_of) else 0, 0)


def _take_span(
    words: WordSpans, span_of: Numbers, left: Numbers, span: Numbers, rows: Numbers, word: Numbers, size: Numbers
) -> None:
    """Marks up to `size` words from `word` on in `span_of` and subtracts their tokens from `left`; one span a row."""
    for taken in range(_LONGEST_SPAN):
        goes_on = (size > taken) & (word < words.firsts[rows + 1])
        rows, word, size, span = rows[goes_on], word[goes_on], size[goes_on], span[goes_on]
        fits = (span_of[word] == 0) & (words.sizes[word] <= left[rows])
        if taken:
            fits &= words.starts[word - 1] + words.sizes[word - 1] == words.starts[word]
        rows, word, size, span = rows[fits], word[fits], size[fits], span[fits]
        span_of[word] = span
        left[rows] -= words.sizes[word]
        word = word + 1


def _shuffled_places(flags: Flags, random: RowRandom) -> NDArray[np.uint64]:
    """A random number where a flag is set, else `_NEVER`; the low bits hold the position, so that no two are equal."""
    numbers = random.bits(flags.shape[1])
    numbers &= ~_PLACE
    numbers |= np.arange(flags.shape[1], dtype=np.uint64)
    numbers[~flags] = _NEVER
    return numbers
