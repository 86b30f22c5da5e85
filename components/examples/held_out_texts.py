"""Texts of validation and test rows that stand in documents, exactly or nearly."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from components.examples.base import TaskRows
from components.examples.near_texts import SIMILARITY, NearTexts
from components.examples.overlap import HELD_OUT
from components.text.near_duplicates import hash_words
from components.text.passages import PassageIndex
from components.text.sentences import split_sentences
from keras_bert.core.folding import fold

# Shorter texts are phrases that other texts use, too (Brown et al. 2020, appendix C): they count as a whole sentence.
_FEWEST_WORDS = 8
# The most sentences of a document that are compared with a short text as one.
_MOST_SENTENCES = 4


class TextMatch(NamedTuple):
    """Places of sentences of a document, and the numbers of the texts that they hold, exactly or else nearly."""

    sentences: range
    equal: frozenset[int]
    near: frozenset[int]


class HeldOutTexts:
    """Looks held-out texts up in documents; it only holds these texts, however many documents there are.

    A text of at least 8 words may stand anywhere in a document, a shorter one must be a sentence, or several.
    With `near` texts are also looked for that are nearly the same, see `NearTexts`.
    """

    def __init__(self, texts: Sequence[str], *, near: bool) -> None:
        is_long = [len(hash_words(text)) >= _FEWEST_WORDS for text in texts]
        self._long = [number for number, flag in enumerate(is_long) if flag]
        self._index = PassageIndex([texts[number] for number in self._long], SIMILARITY)
        short = {text: number for number, text in enumerate(texts) if not is_long[number]}
        self._numbers: dict[bytes, set[int]] = defaultdict(set)
        for text, number in short.items():
            self._numbers[_words_of(text)].add(number)
        self._number_of_key = {(text,): number for text, number in short.items()}
        self._near_texts = NearTexts(self._number_of_key) if near else None
        self._sizes = sorted({min(len(split_sentences(text)), _MOST_SENTENCES) for text in short})

    def find_matches(self, sentences: Sequence[str]) -> Iterator[TextMatch]:
        """The matches of a document."""
        yield from self._find_long(sentences)
        for size in self._sizes:
            for start in range(len(sentences) - size + 1):
                text = " ".join(sentences[start : start + size])
                equal = self._numbers.get(_words_of(text), set())
                near_keys = self._near_texts.find_near((text,)) if self._near_texts else ()
                near = {self._number_of_key[key[0],] for key in near_keys} - equal
                if equal or near:
                    yield TextMatch(range(start, start + size), frozenset(equal), frozenset(near))

    def _find_long(self, sentences: Sequence[str]) -> Iterator[TextMatch]:
        words = [hash_words(sentence) for sentence in sentences]
        ends = list(accumulate(map(len, words)))
        if not ends or not self._long:
            return
        for passage in self._index.find(np.concatenate(words)):
            covered = range(bisect_right(ends, passage.start), bisect_left(ends, passage.stop) + 1)
            numbers = frozenset([self._long[passage.number]])
            if passage.is_equal:
                yield TextMatch(covered, numbers, frozenset())
            elif self._near_texts is not None:
                yield TextMatch(covered, frozenset(), numbers)


def _words_of(text: str) -> bytes:
    """The words of a text, by their hashes; a text without words, such as one of only punctuation, is itself."""
    return hash_words(text).tobytes() or fold(text).encode()


def list_held_out_texts(splits: Mapping[str, Sequence[Any]], task: TaskRows[Any]) -> list[str]:
    """All different texts of validation and test rows; of pairs each text by itself."""
    return list(
        dict.fromkeys(text for split in HELD_OUT for row in splits.get(split, ()) for text in task.key(row) if text)
    )
