"""Text -> sentences, by rules and lists of abbreviations (decision 0009)."""

import re
from collections.abc import Iterator

import sentencex

# English rules also know the stops of other scripts; other languages differ in their abbreviations.
_LANGUAGE = "en"
# The library's time grows with the square of the sentences in a line of Chinese or Japanese.
_BLOCK = 2000
# It never splits inside of quotation marks; a whole speech would be one sentence.
_QUOTES = "\"'\u201c\u2018\u00ab\u201e\u300c\u300e"
_STOPS = re.compile("[.!?\u2026\u3002\uff01\uff1f]")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without white space around them; the end of a line always ends one."""
    found = (sentence.strip() for line in text.split("\n") for sentence in _split_line(line))
    return [sentence for sentence in found if sentence]


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
