"""Sentences of tagged words: columns as in CoNLL-2003, or rows that hold lists of words and of tags."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from components.base import InputError
from components.record_files import Record, as_text
from components.text_files import Lines

_DOCUMENT_START = "-DOCSTART-"
_BLANKS = re.compile(" +")


class Sentence(NamedTuple):
    """The words of a sentence, and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def parse_columns(
    lines: Lines, *, word_column: int = 0, tag_column: int = -1, prefix: str = ""
) -> Iterator[tuple[Sentence, int]]:
    """Sentences out of lines with a word each; a line of white space, or `-DOCSTART-`, ends a sentence.

    Args:
        lines: columns are parted by tabs where a line has one, else by blanks.
        word_column: from 0; negative ones count from the end.
        tag_column: likewise.
        prefix: what stands before every word and is no part of it, as `en:` in WikiANN.

    Yields:
        Each sentence, and the line of its first word; its others stand on the lines below.

    Raises:
        InputError: a line has too few columns, an empty one, or a word without the prefix; or see `Lines`.
    """
    words: list[str] = []
    tags: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(_DOCUMENT_START):
            word, tag = _parse_line(line, f"{lines.file} line {lines.number}", (word_column, tag_column), prefix)
            words.append(word)
            tags.append(tag)
        elif words:
            yield Sentence(tuple(words), tuple(tags)), lines.number - len(words)
            words, tags = [], []
    if words:
        yield Sentence(tuple(words), tuple(tags)), lines.number - len(words) + 1


def parse_lists(record: Record, fields: tuple[str, str]) -> Sentence:
    """The sentence of a row: two lists of strings, or two strings parted by blanks.

    Args:
        record: its values are words and tags.
        fields: what they are called.

    Raises:
        InputError: they are neither, empty, or not equally many.
    """
    words, tags = (_split(value, record.where, field) for field, value in zip(fields, record.values, strict=True))
    if len(words) != len(tags):
        rule = f"field {fields[1]!r} must hold a tag for each of {len(words)} words"
        raise InputError(f"{record.where}: {rule}, got {len(tags)}")
    return Sentence(words, tags)


def _parse_line(line: str, where: str, columns: tuple[int, int], prefix: str) -> tuple[str, str]:
    cells = line.split("\t") if "\t" in line else _BLANKS.split(line.strip(" "))
    # Columns are counted from either end, so the place -2 needs two of them, and the place 1, too.
    least = max(column + 1 if column >= 0 else -column for column in columns)
    if len(cells) < max(least, 2):
        raise InputError(f"{where} must have at least {max(least, 2)} columns, got {len(cells)}: {line[:40]!r}")
    # White space of any kind, as `parse_lists`: rows that were read here are written, and read again there.
    word, tag = (cells[column].strip() for column in columns)
    if not word.startswith(prefix):
        raise InputError(f"{where}: the word must start with prefix {prefix!r}, got {word!r}")
    word = word.removeprefix(prefix).strip()
    for name, value in (("word", word), ("tag", tag)):
        if not value:
            raise InputError(f"{where}: the {name} must not be empty, got {line[:40]!r}")
    return word, tag


def _split(value: Any, where: str, field: str) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        value = as_text(value, where, field).split()
    if not isinstance(value, list) or not value:
        raise InputError(f"{where}: field {field!r} must be a list with at least one string, got {str(value)[:40]}")
    parts = tuple(as_text(part, where, field).strip() for part in value)
    if not all(parts):
        raise InputError(f"{where}: field {field!r} must not hold an empty string, got one at {parts.index('')}")
    return parts
