"""Texts of validation and test rows that stand in documents, exactly or nearly."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.examples.base import TaskRows
from components.examples.near_overlap import NearTexts
from components.examples.splits import fold
from components.text.sentences import split_sentences

HELD_OUT = ("validation", "test")
# The most sentences of a document that are compared with a text as one; a longer text is compared with as many.
_MOST_SENTENCES = 8


class TextMatch(NamedTuple):
    """Sentences of a document that are, one after the other, held-out texts.

    Attributes:
        sentences: their places in the document.
        equal: the numbers of the texts that they are, white space and letter case aside.
        near: the numbers of other texts that they nearly are, see `NearTexts`.
    """

    sentences: range
    equal: frozenset[int]
    near: frozenset[int]


class HeldOutTexts:
    """Looks held-out texts up in documents; it holds these texts alone, however many documents there are.

    Args:
        texts: the texts, all different.
        near: whether texts are also looked for that are nearly the same.
    """

    def __init__(self, texts: Sequence[str], *, near: bool) -> None:
        self._numbers: dict[str, set[int]] = defaultdict(set)
        for number, text in enumerate(texts):
            self._numbers[fold(text)].add(number)
        self._number_of_key = {(text,): number for number, text in enumerate(texts)}
        self._near_texts = NearTexts(self._number_of_key) if near else None
        self._sizes = sorted({min(len(split_sentences(text)), _MOST_SENTENCES) for text in texts})

    def find_matches(self, sentences: Sequence[str]) -> Iterator[TextMatch]:
        """The matches of a document: a text of three sentences is compared with each three of the document.

        Args:
            sentences: the sentences of the document, in order.
        """
        for size in self._sizes:
            for start in range(len(sentences) - size + 1):
                text = " ".join(sentences[start : start + size])
                equal = self._numbers.get(fold(text), set())
                near = set() if self._near_texts is None else self._find_near(self._near_texts, text)
                if equal or near:
                    yield TextMatch(range(start, start + size), frozenset(equal), frozenset(near - equal))

    def _find_near(self, texts: NearTexts, text: str) -> set[int]:
        return {self._number_of_key[key[0],] for key in texts.find_near((text,))}


def list_held_out_texts(splits: Mapping[str, Sequence[Any]], task: TaskRows[Any]) -> list[str]:
    """All different texts of validation and test rows; of pairs each text by itself."""
    return list(
        dict.fromkeys(text for split in HELD_OUT for row in splits.get(split, ()) for text in task.key(row) if text)
    )


def count_rows_with(
    splits: Mapping[str, Sequence[Any]], task: TaskRows[Any], texts: Sequence[str], numbers: frozenset[int]
) -> dict[str, int]:
    """Split -> the number of its rows that have one of some texts.

    Args:
        splits: validation and test rows, and others that are ignored.
        task: the task of the rows.
        texts: the texts of `list_held_out_texts`.
        numbers: the numbers of the texts to look for.
    """
    leaked_texts = {texts[number] for number in numbers}
    return {split: sum(not leaked_texts.isdisjoint(task.key(row)) for row in splits[split]) for split in HELD_OUT}
