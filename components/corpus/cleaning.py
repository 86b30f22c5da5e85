"""Which documents are worth learning from: pure rules, each of which keeps a document or says why not."""

import dataclasses
import re
from typing import Literal, get_args

from keras_bert.checks import check

Repetition = Literal["off", "lines", "gopher"]

UNDECODABLE = "undecodable"
TOO_SHORT = "too short"
TOO_LONG = "too long"
TOO_REPETITIVE = "too repetitive"
EXACT_DUPLICATE = "exact duplicate"
NEAR_DUPLICATE = "near duplicate"
# The place of a reason is its number in the index of a corpus; 0 keeps the document.
REASONS = ("", UNDECODABLE, TOO_SHORT, TOO_LONG, TOO_REPETITIVE, EXACT_DUPLICATE, NEAR_DUPLICATE)

# Line ends of other systems and page breaks, which BERT's tokenizer would drop and so glue words together.
_LINE_ENDS = re.compile("\r\n|[\x0b\x0c\r\x85]")
# Category Cc but for tab and newline, U+FFFD, and byte order marks inside of a text (google-research/bert
# tokenization.py, _clean_text). All else that has no width is left to the tokenizer.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffd]")
# To look for each of both kinds alone takes a third of the time of one pattern.
_ODD = [chr(code) for code in (*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xFEFF, 0xFFFD)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What becomes of a document before it is learnt from.

    The default removes control characters and drops what stands in the corpus twice, also nearly; it never judges
    how a text is written, as the thresholds of the other rules come from pages of the web.

    Attributes:
        controls: whether control characters are removed.
        min_words: the fewest words of a document. Gopher wants 50 (Rae et al. 2021, appendix A.1.1).
        max_words: the most words, or None. Gopher wants at most 100,000; long documents are cut in any case.
        repetition: `lines` drops a document if too many of its lines or paragraphs repeat others, `gopher` also if
            too many n-grams do (Rae et al. 2021, table A1); `off` does neither.
        exact_duplicates: whether a text that came before is dropped.
        near_duplicates: whether a text that nearly came before is dropped.
        threshold: the Jaccard similarity of sets of shingles from which on it is more likely than not that two
            texts are held for near duplicates (0.8 in Lee et al. 2022, section 4.2, and in Gopher, appendix A.1.3).
        permutations: values of a MinHash signature; more give a sharper threshold and take longer.
        shingle: words of a shingle (5 in Lee et al. 2022).
    """

    controls: bool = True
    min_words: int = 0
    max_words: int | None = None
    repetition: Repetition = "off"
    exact_duplicates: bool = True
    near_duplicates: bool = True
    threshold: float = 0.8
    permutations: int = 128
    shingle: int = 5

    def __post_init__(self) -> None:
        least = max(1, self.min_words)
        known = get_args(Repetition)
        check("Cleaning", "min_words", self.min_words >= 0, "be at least 0", self.min_words)
        fits = self.max_words is None or self.max_words >= least
        check("Cleaning", "max_words", fits, f"be at least {least}", self.max_words)
        check("Cleaning", "repetition", self.repetition in known, f"be one of {known}", self.repetition)
        check("Cleaning", "threshold", 0 < self.threshold <= 1, "be in (0, 1]", self.threshold)
        check("Cleaning", "permutations", 2 <= self.permutations <= 1024, "be in [2, 1024]", self.permutations)
        check("Cleaning", "shingle", self.shingle >= 1, "be at least 1", self.shingle)


def remove_controls(text: str) -> str:
    r"""A text without control characters and U+FFFD; all ends of lines and pages become `\n`."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)) if any(odd in text for odd in _ODD) else text


def judge(text: str, cleaning: Cleaning) -> tuple[str, str] | None:
    """Why a document is to be dropped, or None.

    Returns:
        One of `REASONS`, and the figures behind it for a person.
    """
    if not text or text.isspace():
        return TOO_SHORT, "nothing is left of it"
    if cleaning.min_words or cleaning.max_words is not None:
        words = len(text.split())
        if words < cleaning.min_words:
            return TOO_SHORT, f"{words} words, at least {cleaning.min_words} wanted"
        if cleaning.max_words is not None and words > cleaning.max_words:
            return TOO_LONG, f"{words} words, at most {cleaning.max_words} wanted"
    if cleaning.repetition != "off":
        from components.corpus.repetition import find_repetition

        found = find_repetition(text, ngrams=cleaning.repetition == "gopher")
        if found:
            return TOO_REPETITIVE, found
    return None
