"""The worst answers of a model, with excerpts of their texts."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow

# Mistakes of a model, and characters of each text.
MOST_ROWS = 20
_MOST_CHARACTERS = 600
# Words of a sentence around the first wrong one.
_MOST_WORDS = 60


class Mistake(NamedTuple):
    """One wrong answer.

    Attributes:
        texts: the text, the pair, or the question and its context.
        value: size of the error, see `Mistakes.measure`; None if it is unknown.
        words: the words of a sentence with their true and their predicted tags, instead of texts.
    """

    texts: tuple[str, ...]
    truth: str
    answer: str
    value: float | None
    words: tuple[tuple[str, str, str], ...] = ()


class Mistakes(NamedTuple):
    """The worst answers to the rows of a split.

    Attributes:
        rows: the mistakes, the worst first, at most `MOST_ROWS`.
        wrong: number of wrong answers; None where answers are numbers, which are never exactly right.
    """

    measure: str
    rows: list[Mistake]
    wrong: int | None
    total: int

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self._asdict(), "rows": [mistake._asdict() for mistake in self.rows]}


def worst_first(mistakes: Iterable[Mistake], *, rising: bool = False) -> list[Mistake]:
    """The worst mistakes: the largest value first, or with `rising` the smallest; equal ones stay in order."""
    sign = 1 if rising else -1
    return sorted(mistakes, key=lambda mistake: sign * (mistake.value or 0.0))[:MOST_ROWS]


def cut(text: str, around: int = 0) -> str:
    """A text, or of a long one the part around a character."""
    start = max(0, min(around - _MOST_CHARACTERS // 2, len(text) - _MOST_CHARACTERS))
    end = start + _MOST_CHARACTERS
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")


def cut_words(words: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
    """The words of a sentence with both tags, or of a long one those around the first wrong tag."""
    first = next((place for place, (_, true, got) in enumerate(words) if true != got), 0)
    start = max(0, min(first - _MOST_WORDS // 2, len(words) - _MOST_WORDS))
    return tuple((cut(word), true, got) for word, true, got in words[start : start + _MOST_WORDS])


def displayed_texts(row: TextRow | LabelSetRow) -> tuple[str, ...]:
    """The text of a row, or both texts of a pair, cut for display."""
    return tuple(cut(text) for text in (row.text, row.second_text) if text is not None)
