"""Text without labels, one document at a time: text files, JSON lines, CSV, TSV, Parquet and saved datasets."""

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.paths import file_digest, match_files, short_name
from components.files.tables import RECORD_KINDS, as_text, read_records
from components.files.text_files import COMPRESSIONS, Lines, extension
from components.objects.downloads import is_downloaded, local_file
from components.sources.shared import digest
from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

TEXT = ".txt"
DOCUMENT_KINDS = (TEXT, *RECORD_KINDS)

# How much of a file is read before a run starts.
_CHECKED_CHARACTERS = 64_000_000
# The assumed size of a file on another file system, so that no request is made for it.
_REMOTE_BYTES = 1 << 30
# How often text is longer than its packed file, about.
_PACKING = 3


class Document(NamedTuple):
    """A text.

    Attributes:
        source: where it was found: the file's name inside `TextSource.path`, and `#` with the number of the
            document or row, from 0, or `:` with the line where it starts, from 1.
        id: the field that `TextSource.id` names; None without one, and in a text file.
        text: without white space around it, never empty; with U+FFFD for what could not be decoded.
        problem: why it is not valid Unicode, as `bytes that are not UTF-8 at offset 12`; None if it is.
    """

    source: str
    id: str | None
    text: str
    problem: str | None = None


@validated_dataclass(kw_only=False)
class TextSource:
    """Text without labels: `.txt`, `.jsonl`, `.csv`, `.tsv`, `.parquet`, and folders that `datasets` saved.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`.

    Attributes:
        path: a file; a folder, searched to any depth but for hidden files and folders; a pattern, such as
            `texts/**/*.txt`; or any of them in object storage, such as `s3://bucket/texts`, or on another file
            system of fsspec.
        text: the field or column of the text; a `.txt` file has none.
        id: the field or column of an identifier that is stored with the document; empty for none.
        document_end: the end of a document in a `.txt` file: a `blank line`, or the end of the `file`.
        split: the split to read where `path` is a folder that `DatasetDict.save_to_disk` wrote.
        undecodable: the treatment of text that is not valid Unicode: `error` stops the run, `drop` leaves out the
            document.
    """

    path: NonEmptyStr
    text: NonEmptyStr = "text"
    id: str = ""
    document_end: Literal["blank line", "file"] = "blank line"
    split: str = ""
    undecodable: Literal["error", "drop"] = "error"

    @pydantic.model_validator(mode="after")
    def _check_id(self) -> Self:
        check("TextSource", "id", self.id != self.text, "be another field than text", self.id)
        return self

    def check(self) -> None:
        """Looks at every file, and reads the first 64 million characters of each.

        What is wrong further on stops the run in its first step, with the same message.
        """
        has_text = False
        for file in self.files():
            size = 0
            for document in self.documents(file):
                has_text = has_text or document.problem is None
                size += len(document.text)
                if has_text and size > _CHECKED_CHARACTERS:
                    break
        if not has_text:
            raise InputError(f"the corpus {self.path} must hold at least one document, got only blank text")

    def fingerprint(self) -> str:
        """The digest of the settings, and of the names and contents of all files.

        Remote files are not read, see `file_digest`.
        """
        settings = {field: value for field, value in dataclasses.asdict(self).items() if field != "path"}
        digests = ((short_name(file, self.path), file_digest) for file, file_digest in self.digests().items())
        return digest(itertools.chain([("settings", repr(sorted(settings.items())))], digests))

    def digests(self) -> dict[str, str]:
        """The files with their digests."""
        return {file: file_digest(file) for file in self.files()}

    def files(self) -> list[str]:
        """The files, sorted by name."""
        return match_files(self.path, DOCUMENT_KINDS, self.split, what="the corpus")

    def documents(self, file: str) -> Iterator[Document]:
        """The documents of one file in their order, in constant memory but for the longest of them."""
        name = short_name(file, self.path)
        kind = extension(file)
        if kind == TEXT:
            lines = Lines(file, strict=self.undecodable == "error")
            yield from _read_text(lines, name, whole=self.document_end == "file")
        elif kind in RECORD_KINDS:
            yield from _read_rows(file, name, self)
        else:
            raise InputError(f"a file of documents must be {', '.join(DOCUMENT_KINDS)}, got {file}")

    def size(self, file: str) -> int:
        """About how many bytes of text a file has; one on another file system counts as large."""
        copy = local_file(file) if is_downloaded(file) else Path(file)
        packing = _PACKING if file.lower().endswith((*COMPRESSIONS, ".parquet")) else 1
        return packing * copy.stat().st_size if copy.is_file() else _REMOTE_BYTES


def _read_text(lines: Lines, name: str, *, whole: bool) -> Iterator[Document]:
    number = 0
    document_lines: list[str] = []
    for line in lines:
        if whole or line.strip():
            document_lines.append(line)
            continue
        if document_lines:
            yield Document(f"{name}#{number}", None, "\n".join(document_lines).strip(), lines.take_problem())
            number += 1
            document_lines = []
    text = "\n".join(document_lines).strip()
    if text:
        yield Document(f"{name}#{number}", None, text, lines.take_problem())


def _read_rows(file: str, name: str, source: TextSource) -> Iterator[Document]:
    strict = source.undecodable == "error"
    fields = (source.text, source.id) if source.id else (source.text,)
    for record in read_records(file, fields, strict=strict):
        problems: list[str] | None = None if strict else []
        pairs = zip(fields, record.values, strict=True)
        cells = [as_text(value, record.where, field, problems=problems) for field, value in pairs]
        # The line's fault may be in a field that is not read.
        is_touched = any("\ufffd" in text for text in cells)
        problem = problems[0] if problems else record.problem if is_touched else None
        if cells[0].strip():
            unit, _, number = record.place.partition(" ")
            place = f"{name}:{number}" if unit == "line" else f"{name}#{int(number) - 1}"
            yield Document(place, cells[1] if source.id else None, cells[0].strip(), problem)


def read_lines(source: TextSource) -> Iterator[str]:
    """Yields the distinct lines of all documents, stripped of white space; the first of equal lines.

    It holds 16 bytes of each line in memory.
    """
    seen = set()
    for file in source.files():
        for document in source.documents(file):
            if document.problem is not None:
                continue
            for line in map(str.strip, document.text.split("\n")):
                key = line_digest(line)
                if line and key not in seen:
                    seen.add(key)
                    yield line


def line_digest(line: str) -> bytes:
    """Returns a 16-byte digest of a line; sorting by it is independent of the content."""
    return hashlib.blake2b(line.encode(), digest_size=16).digest()
