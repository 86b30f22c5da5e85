"""Text -> sentences, by rules and lists of abbreviations (decision 0009)."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import sentencex

# English rules also know the stops of other scripts; other languages differ in their abbreviations.
_LANGUAGE = "en"
# The library's time grows with the square of the sentences in a line of Chinese or Japanese.
_BLOCK = 2000
# It never splits inside of quotation marks; a whole speech would be one sentence.
_QUOTES = "\"'\u201c\u2018\u00ab\u201e\u300c\u300e"
_STOPS = re.compile("[.!?\u2026\u3002\uff01\uff1f]")
# It breaks down on a single letter with one of these and a full stop behind it, as it takes them for one byte.
_WIDE_BLANKS = dict.fromkeys([0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000], " ")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without white space around them; the end of a line always ends one."""
    return cut_sentences(text, measure_sentences(text))


def measure_sentences(text: str) -> list[int]:
    """How many characters of a text each sentence takes, with the white space around it; together all of them.

    White space that is a line of its own goes to the sentence after it, or at the end to the one before it.
    """
    # To look for each alone takes a tenth of the time of a pattern.
    if not text.isascii() and any(chr(code) in text for code in _WIDE_BLANKS):
        text = text.translate(_WIDE_BLANKS)
    sizes: list[int] = []
    blank = 0
    for line in text.split("\n"):
        for part in _split_line(line):
            if part.isspace():
                blank += len(part)
            else:
                sizes.append(blank + len(part))
                blank = 0
        # The end of the line.
        blank += 1
    if sizes:
        # Behind the last line there is none.
        sizes[-1] += blank - 1
    return sizes


def cut_sentences(text: str, sizes: Sequence[int]) -> list[str]:
    """The sentences of a text, without white space around them.

    Args:
        text: what was measured.
        sizes: see `measure_sentences`.
    """
    return [text[start:end].strip() for start, end in pairwise(accumulate(sizes, initial=0))]


def _split_line(line: str) -> Iterator[str]:
    """Takes a line block by block; the last sentence of a block may go on in the next one."""
    start = 0
    while len(line) - start > _BLOCK:
        *whole, last = _split_block(line[start : start + _BLOCK])
        yield from whole or [last]
        start += _BLOCK - (len(last) if whole else 0)
    yield from _split_block(line[start:])


def _split_block(block: str) -> Iterator[str]:
    for part in sentencex.segment(_LANGUAGE, block):
        if part[0] in _QUOTES and len(_STOPS.findall(part)) > 1:
            first, *rest = sentencex.segment(_LANGUAGE, part[1:])
            yield part[0] + first
            yield from rest
        else:
            yield part
