"""Documents out of the user's files, one at a time: text, JSON lines, CSV, TSV, Parquet and saved datasets."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from components.dsl.errors import InputError
from components.files.paths import match_files as match_kinds
from components.files.paths import short_name
from components.files.record_files import RECORD_KINDS, Record, as_any_text, as_text, read_records
from components.files.text_files import Lines, extension

if TYPE_CHECKING:
    from components.sources.text import TextSource

TEXT = ".txt"
DOCUMENT_KINDS = (TEXT, *RECORD_KINDS)


class Document(NamedTuple):
    """A text.

    Attributes:
        source: where it was found: the file's name inside of `TextSource.path`, and `#` with the number of the
            document or row, from 0, or `:` with the line where it starts, from 1.
        id: the field that `TextSource.id` names; None without one, and in a text file.
        text: without white space around it, never empty.
    """

    source: str
    id: str | None
    text: str


class Undecodable(NamedTuple):
    """A text that is not valid Unicode.

    Attributes:
        source: as in `Document`.
        reason: as `bytes that are not UTF-8 at offset 12`.
        text: with U+FFFD for what could not be decoded.
    """

    source: str
    reason: str
    text: str


def match_files(path: str, split: str = "") -> list[str]:
    """The files of a corpus, sorted; see `components.files.paths.match_files`.

    Raises:
        InputError: see there.
    """
    return match_kinds(path, DOCUMENT_KINDS, split, what="the corpus")


def read_documents(file: str, source: "TextSource") -> Iterator[Document | Undecodable]:
    """The documents of one file in their order, in constant memory but for the longest of them.

    Args:
        file: one that `match_files` found.
        source: says which fields hold text and id, what ends a document of a text file, and what is to be done
            with one that is not valid Unicode.

    Raises:
        InputError: the file is missing, broken or of an unknown kind, a field is missing or holds no text; or a
            document is not valid Unicode and `source.undecodable` is `error`.
    """
    name = short_name(file, source.path)
    kind = extension(file)
    if kind == TEXT:
        lines = Lines(file, strict=source.undecodable == "error")
        yield from _read_text(lines, name, whole=source.document_end == "file")
    elif kind in RECORD_KINDS:
        yield from _read_rows(file, name, source)
    else:
        raise InputError(f"a file of documents must be {', '.join(DOCUMENT_KINDS)}, got {file}")


def _read_text(lines: Lines, name: str, *, whole: bool) -> Iterator[Document | Undecodable]:
    number = 0
    begun: list[str] = []
    for line in lines:
        if whole or line.strip():
            begun.append(line)
            continue
        if begun:
            yield _make_document(f"{name}#{number}", None, "\n".join(begun), lines.take_problem())
            number += 1
            begun = []
    text = "\n".join(begun)
    if text.strip():
        yield _make_document(f"{name}#{number}", None, text, lines.take_problem())


def _read_rows(file: str, name: str, source: "TextSource") -> Iterator[Document | Undecodable]:
    strict = source.undecodable == "error"
    fields = (source.text, source.id) if source.id else (source.text,)
    for record in read_records(file, fields, strict=strict):
        cells, problem = _read_cells(record, fields, strict=strict)
        if cells[0].strip():
            unit, _, number = record.place.partition(" ")
            place = f"{name}:{number}" if unit == "line" else f"{name}#{int(number) - 1}"
            yield _make_document(place, cells[1] if source.id else None, cells[0], problem)


def _read_cells(record: Record, fields: tuple[str, ...], *, strict: bool) -> tuple[list[str], str | None]:
    """The values of a row as texts, and what could not be decoded in them."""
    pairs = list(zip(fields, record.values, strict=True))
    if strict:
        return [as_text(value, record.where, field) for field, value in pairs], None
    cells = [as_any_text(value, record.where, field) for field, value in pairs]
    problem = next((problem for _, problem in cells if problem), None)
    # What is wrong with a line may be in a field that nobody asked for.
    touched = any("\ufffd" in text for text, _ in cells)
    return [text for text, _ in cells], problem or (record.problem if touched else None)


def _make_document(source: str, id_: str | None, text: str, problem: str | None) -> Document | Undecodable:
    text = text.strip()
    return Document(source, id_, text) if problem is None else Undecodable(source, problem, text)
