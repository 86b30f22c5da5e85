"""The index of a corpus in the making: the rows by which steps sort, link and find the texts."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from zstandard import ZstdDecompressor

from keras_bert.core.folders import replaced_file

# One row a document, 59 bytes. Documents that were cut have a row a part.
ROW = np.dtype(
    [
        ("key", "u8"),  # the first 8 bytes of the hash of the id: the order of the corpus
        ("high", "u8"),  # the first 8 bytes of the hash of the text
        ("low", "u8"),  # the last 8 bytes of the hash of the text
        ("whole", "u8"),  # the first 8 bytes of the hash of the text of the uncut document
        ("place", "u8"),  # file, chunk and row in the source: the reading order
        ("line", "u4"),  # bytes of the line
        ("note", "u4"),  # bytes of the note after the line
        ("bytes", "u4"),  # of the text
        ("sentences", "u4"),  # number of sentences
        ("reason", "u1"),  # position in `REASONS`
        ("named", "?"),  # whether the source gave the id
        ("first", "?"),  # whether it is the first part of its document
    ]
)
# The level of zstandard for texts in the scratch folder: 0.42 of their size, 4 ms a MB to pack and 1 ms to unpack.
PACKING = 1
IndexRows = NDArray[Any]
Ints = NDArray[np.int64]

# A place has 64 bits: 24 for 16 million files, 20 for a million chunks a file (terabytes), 20 for the rows of a chunk.
_FILE_BITS, _CHUNK_BITS, _ROW_BITS = 24, 20, 20
MOST_FILES, MOST_CHUNKS, MOST_ROWS = 1 << _FILE_BITS, 1 << _CHUNK_BITS, 1 << _ROW_BITS


class IndexedTexts(NamedTuple):
    """Texts, each a line with its note behind it, and their index rows (documents,) of type `ROW`."""

    lines: list[bytes]
    rows: IndexRows


def hash_text(text: str) -> bytes:
    """A 16-byte hash of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def as_place(unit: int, chunk: int, row: int) -> int:
    """The place of a document: the numbers of its file, its chunk in the file and its row in the chunk.

    They must be below `MOST_FILES`, `MOST_CHUNKS` and `MOST_ROWS`.
    """
    return ((unit << _CHUNK_BITS | chunk) << _ROW_BITS) | row


class TextsIndexer:
    """Collects the lines of documents and their index rows."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(
        self,
        id_: str | None,
        text: str,
        hashes: tuple[bytes, bytes],
        note: dict[str, str],
        sentences: list[int],
        **fields: Any,
    ) -> None:
        """Adds a document.

        Without an id, the hash of the text is the id. `hashes` are those of the text and of the text of the uncut
        document. `note` is stored behind the line, and `fields` are `place`, `reason` and `first` of `ROW`.
        """
        digest, whole = hashes
        key = digest if id_ is None else hash_text(id_)
        part_of = {} if whole == digest else {"whole": whole[:8].hex()}
        record = {"id": digest.hex() if id_ is None else id_, "text": text, "sentences": sentences}
        line = make_line(record | part_of)
        tail = make_line(note)
        values = {
            "key": int.from_bytes(key[:8], "big"),
            "high": int.from_bytes(digest[:8], "big"),
            "low": int.from_bytes(digest[8:], "big"),
            "whole": int.from_bytes(whole[:8], "big"),
            "line": len(line),
            "note": len(tail),
            "bytes": len(text.encode()),
            "sentences": len(sentences),
            "named": id_ is not None,
        }
        self._lines.append(line + tail)
        self._rows.append(tuple((values | fields)[name] for name in ROW.names or ()))

    def finish(self) -> IndexedTexts:
        """All documents, in the order in which they were added."""
        return IndexedTexts(self._lines, np.array(self._rows, ROW))


def make_line(record: dict[str, Any]) -> bytes:
    """A record as a JSON line."""
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def read_texts(file: str, rows: IndexRows) -> Iterator[tuple[bytes, bytes]]:
    """Yields (line, note) of every row (documents,) of a partition; rows in the order of the corpus are one pass."""
    columns = (rows[name].tolist() for name in ("frame", "offset", "line", "note"))
    unpacked, content = -1, b""
    with open(file, "rb") as stream:
        for frame, start, line, note in zip(*columns, strict=True):
            if frame != unpacked:
                stream.seek(frame)
                unpacked, content = frame, ZstdDecompressor().stream_reader(stream, closefd=False).read()
            yield content[start : start + line], content[start + line : start + line + note]


def write_gzip(lines: Iterable[bytes], target: Path, scratch: str) -> None:
    """Writes a gzip file atomically; its bytes contain neither a time nor a file name.

    The unfinished file is in `scratch`, on the same file system.
    """
    # On text, level 1 takes 60 % of the time of level 4 and a quarter of the time of level 6; files are 12 and 18 %
    # larger.
    with (
        replaced_file(target, scratch) as unfinished,
        unfinished.open("wb") as raw,
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as stream,
    ):
        stream.writelines(lines)
