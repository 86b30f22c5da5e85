"""Rules that clean or drop documents of a corpus; a rule that drops a document says why."""

import re
from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import PositiveShare, validated_dataclass

Repetition = Literal["off", "lines", "gopher"]

UNDECODABLE = "undecodable"
TOO_SHORT = "too short"
TOO_LONG = "too long"
TOO_REPETITIVE = "too repetitive"
EXACT_DUPLICATE = "exact duplicate"
NEAR_DUPLICATE = "near duplicate"
# The index of a corpus stores the position of a reason in this tuple; 0 keeps the document.
REASONS = ("", UNDECODABLE, TOO_SHORT, TOO_LONG, TOO_REPETITIVE, EXACT_DUPLICATE, NEAR_DUPLICATE)

# Line ends of other systems and page breaks: BERT's tokenizer would drop them and join the words around them.
_LINE_ENDS = re.compile("\r\n|[\x0b\x0c\r\x85]")
# Category Cc but for tab and newline, U+FFFD, and byte order marks inside a text (google-research/bert
# tokenization.py, _clean_text). The tokenizer handles all other zero-width characters.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffd]")
# Searching for single characters takes a third of the time of a regular expression.
_REPLACED_CHARACTERS = [chr(code) for code in (*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xFEFF, 0xFFFD)]


@validated_dataclass
class Cleaning:
    """Options of the cleaning of a corpus.

    By default control characters are removed and exact and near duplicates are dropped. The quality rules are off,
    because their published thresholds were made for web pages.

    Attributes:
        controls: whether control characters are removed.
        min_words: minimum number of words of a document; 50 in Gopher (Rae et al. 2021, appendix A.1.1).
        max_words: maximum number of words, or None; 100,000 in Gopher. Long documents are cut in any case.
        repetition: `lines` drops a document if too many of its lines or paragraphs repeat others, `gopher` also if
            too many n-grams do (Rae et al. 2021, table A1); `off` does neither.
        exact_duplicates: whether a document is dropped if an earlier one has the same text.
        near_duplicates: whether a document is dropped if an earlier one has nearly the same text.
        threshold: the Jaccard similarity of shingle sets, above 0 and at most 1, from which two texts are more likely
            than not to count as near duplicates (0.8 in Lee et al. 2022, section 4.2, and in Gopher, appendix A.1.3).
        permutations: number of values in a MinHash signature, 2 to 1024; more give a sharper threshold and take longer.
        shingle: number of words in a shingle (5 in Lee et al. 2022).
    """

    controls: bool = True
    min_words: pydantic.NonNegativeInt = 0
    max_words: pydantic.PositiveInt | None = None
    repetition: Repetition = "off"
    exact_duplicates: bool = True
    near_duplicates: bool = True
    threshold: PositiveShare = 0.8
    permutations: Annotated[int, pydantic.Field(ge=2, le=1024)] = 128
    shingle: pydantic.PositiveInt = 5

    @pydantic.model_validator(mode="after")
    def _check_words(self) -> Self:
        fits = self.max_words is None or self.max_words >= self.min_words
        check("Cleaning", "max_words", fits, f"be at least min_words={self.min_words}", self.max_words)
        return self


def remove_controls(text: str) -> str:
    r"""Removes control characters and U+FFFD from a text and turns all line and page ends into `\n`."""
    return (
        _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
        if any(character in text for character in _REPLACED_CHARACTERS)
        else text
    )


def judge(text: str, cleaning: Cleaning) -> tuple[str, str] | None:
    """The reason to drop a document, one of `REASONS`, and its readable details; None to keep it."""
    if not text or text.isspace():
        return TOO_SHORT, "empty after cleaning"
    if cleaning.min_words or cleaning.max_words is not None:
        words = len(text.split())
        if words < cleaning.min_words:
            return TOO_SHORT, f"{words} words, the minimum is {cleaning.min_words}"
        if cleaning.max_words is not None and words > cleaning.max_words:
            return TOO_LONG, f"{words} words, the maximum is {cleaning.max_words}"
    if cleaning.repetition != "off":
        from components.corpus.repetition import find_repetition

        detail = find_repetition(text, ngrams=cleaning.repetition == "gopher")
        if detail:
            return TOO_REPETITIVE, detail
    return None
