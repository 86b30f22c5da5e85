"""The worst answers of a model, few enough to be read, with as much of their texts as it takes."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Of one model, and characters of each text.
MOST_ROWS = 20
_MOST_CHARACTERS = 600
# Words of a sentence around the first wrong one.
_MOST_WORDS = 60


class Mistake(NamedTuple):
    """One wrong answer.

    Attributes:
        texts: what was asked: a text, a pair, or a question and its context.
        truth: what is right.
        answer: what was answered.
        value: how wrong it is, see `Mistakes.measure`; None where nothing tells that.
        words: of a sentence each word with its true tag and the one it got; then there are no texts.
    """

    texts: tuple[str, ...]
    truth: str
    answer: str
    value: float | None
    words: tuple[tuple[str, str, str], ...] = ()


class Mistakes(NamedTuple):
    """The worst answers to the rows of a split.

    Attributes:
        measure: what `Mistake.value` is, in a word or two.
        rows: the worst first, at most `MOST_ROWS`.
        wrong: how many rows have a wrong answer; None where answers are numbers, which are never quite right.
        asked: of how many.
    """

    measure: str
    rows: list[Mistake]
    wrong: int | None
    asked: int

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self._asdict(), "rows": [mistake._asdict() for mistake in self.rows]}


def worst_first(mistakes: Iterable[Mistake], *, rising: bool = False) -> list[Mistake]:
    """The worst of them: the largest value first, or the smallest; of equal ones, those that come first."""
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
