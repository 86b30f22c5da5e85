"""Reads CoNLL-U: words of sentences with a tag each, and the heads of their dependency trees."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Columns of CoNLL-U (version 2) that are read; the tag is one of the others by name.
_ID, _FORM, _HEAD, _COLUMNS = 0, 1, 6, 10
TAG_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}


class TreebankSentence(NamedTuple):
    """A sentence of a treebank, without ranges of several words in one token and empty nodes.

    Heads of words are numbers from 1; 0 for the root. They are empty if the file has none for the sentence.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]


def parse_conllu(lines: Iterable[str], file: str, tag: str = "upos") -> Iterator[tuple[TreebankSentence, int]]:
    """Parses the lines, without their ends, of a CoNLL-U file; yields each sentence with the line of its first word."""
    if tag not in TAG_COLUMNS:
        raise ValueError(f"parse_conllu.tag must be one of {sorted(TAG_COLUMNS)}, got {tag!r}")
    rows: list[tuple[str, str, str]] = []
    start = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            cells, where = line.split("\t"), f"{file} line {number}"
            if len(cells) != _COLUMNS:
                raise ValueError(
                    f"{where} must have {_COLUMNS} columns parted by tabs, got {len(cells)}: {line[:40]!r}"
                )
            # A range of words (1-2) and an empty node (1.1) are no words.
            if cells[_ID].isascii() and cells[_ID].isdigit():
                row = cells[_FORM].strip(), cells[TAG_COLUMNS[tag]].strip(), cells[_HEAD].strip()
                for name, value in zip(("word", "tag"), row, strict=False):
                    if not value:
                        raise ValueError(f"{where}: the {name} must not be empty, got {line[:40]!r}")
                start = start if rows else number
                rows.append(row)
        elif rows:
            yield _join(rows, f"{file} line {start}"), start
            rows = []
    if rows:
        yield _join(rows, f"{file} line {start}"), start


def _join(rows: list[tuple[str, str, str]], where: str) -> TreebankSentence:
    words, tags, heads = zip(*rows, strict=True)
    if all(head == "_" for head in heads):
        return TreebankSentence(words, tags, ())
    for head in heads:
        if not (head.isascii() and head.isdigit()):
            raise ValueError(f"{where}: heads of a sentence must all be numbers, or all be _, got {head!r}")
    return TreebankSentence(words, tags, tuple(map(int, heads)))
