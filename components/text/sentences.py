"""Sentence splitting by rules and lists of abbreviations (decision 0009)."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import sentencex

# The English rules also split at the full stops of other scripts; languages differ only in their abbreviations.
_LANGUAGE = "en"
# The library takes quadratic time in the number of sentences of a Chinese or Japanese line.
_BLOCK = 2000
# The library never splits inside quotation marks, so that a whole speech would be one sentence.
_QUOTES = "\"'\u201c\u2018\u00ab\u201e\u300c\u300e"
_STOPS = re.compile("[.!?\u2026\u3002\uff01\uff1f]")
# The library raises an error on a single letter followed by one of these and a full stop: it takes them for one byte.
_WIDE_BLANKS = dict.fromkeys([0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000], " ")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, stripped of white space; a line end always ends a sentence."""
    return cut_sentences(text, measure_sentences(text))


def measure_sentences(text: str) -> list[int]:
    """The number of characters of every sentence, surrounding white space included; they add up to the text's length.

    A blank line belongs to the sentence after it, or to the last sentence.
    """
    # Searching for one character at a time takes a tenth of the time of a regular expression.
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
        # Counts the line end.
        blank += 1
    if sizes:
        # The last line has no line end.
        sizes[-1] += blank - 1
    return sizes


def cut_sentences(text: str, sizes: Sequence[int]) -> list[str]:
    """The sentences of a text, stripped of white space.

    `sizes` is the result of `measure_sentences`.
    """
    return [text[start:end].strip() for start, end in pairwise(accumulate(sizes, initial=0))]


def _split_line(line: str) -> Iterator[str]:
    """Splits a line block by block; the last sentence of a block may continue in the next block."""
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
