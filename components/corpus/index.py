"""Where the documents of a corpus lie while it is made: what travels between the steps in place of their texts."""

import gzip
import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# One row a document, 67 bytes.
ROW = np.dtype(
    [
        ("key", "u8"),  # the first 8 bytes of the hash of the id: the order of the corpus
        ("high", "u8"),  # the hash of the text, 16 bytes in two
        ("low", "u8"),
        ("whole", "u8"),  # of the text of the document that this is a piece of
        ("place", "u8"),  # file, chunk and row in the source: the order in which it was read
        ("offset", "u8"),  # in the file of texts
        ("line", "u4"),  # bytes of its line of the corpus
        ("note", "u4"),  # bytes of what is known besides, after the line
        ("bytes", "u4"),  # of the text
        ("sentences", "u4"),
        ("reason", "u1"),  # number of `REASONS`
        ("named", "?"),  # whether the source gave the id
        ("first", "?"),  # whether it is the first piece of its document
    ]
)
Rows = NDArray[Any]

# A place has 64 bits: 24 for 16 million files, 20 for a million chunks of each, terabytes, 20 for the rows of a chunk.
_FILE_BITS, _CHUNK_BITS, _ROW_BITS = 24, 20, 20
MOST_FILES, MOST_CHUNKS, MOST_ROWS = 1 << _FILE_BITS, 1 << _CHUNK_BITS, 1 << _ROW_BITS


class Texts(NamedTuple):
    """A file of texts and the rows of `ROW` that say what it holds."""

    file: str
    rows: Rows


def hash_text(text: str) -> bytes:
    """The 16 bytes that stand for a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def as_place(unit: int, chunk: int, row: int) -> int:
    """The place of a document: the number of its file, of the chunk in the file, of the row in the chunk.

    They must be less than `MOST_FILES`, `MOST_CHUNKS` and `MOST_ROWS`.
    """
    return ((unit << _CHUNK_BITS | chunk) << _ROW_BITS) | row


class TextsWriter:
    """Writes documents one after the other into a file and keeps their rows.

    Args:
        folder: gets the file, under a name of its own, as the same chunk may be written twice.
    """

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / f"{uuid.uuid4().hex}.texts"
        self._stream = self._file.open("wb")
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

        Args:
            id_: as the source names it, or None for the hash of the text.
            text: of the document.
            hashes: of the text, and of the text of the document that this is a piece of.
            note: what is known besides.
            sentences: how long they are, see `measure_sentences`; none of what is dropped.
            **fields: `place`, `reason` and `first` of `ROW`.
        """
        digest, whole = hashes
        key = digest if id_ is None else hash_text(id_)
        part_of = {} if whole == digest else {"whole": whole[:8].hex()}
        record = {"id": digest.hex() if id_ is None else id_, "text": text, "sentences": sentences}
        line = make_line(record | part_of)
        tail = make_line(note)
        known = {
            "key": int.from_bytes(key[:8], "big"),
            "high": int.from_bytes(digest[:8], "big"),
            "low": int.from_bytes(digest[8:], "big"),
            "whole": int.from_bytes(whole[:8], "big"),
            "offset": self._stream.tell(),
            "line": len(line),
            "note": len(tail),
            "bytes": len(text.encode()),
            "sentences": len(sentences),
            "named": id_ is not None,
        }
        self._stream.write(line + tail)
        self._rows.append(tuple((known | fields)[name] for name in ROW.names or ()))

    def close(self) -> Texts:
        """Ends the file."""
        self._stream.close()
        return Texts(str(self._file), np.array(self._rows, ROW))


def make_line(record: dict[str, Any]) -> bytes:
    """A JSON line."""
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


class TextsReader:
    """Reads documents out of files of texts; keeps no more than some files open."""

    def __init__(self, files: list[str]) -> None:
        self._files = files

    def read(self, numbers: NDArray[np.int64], rows: Rows) -> Iterator[tuple[bytes, bytes]]:
        """(line, note) of each row, in this order.

        Args:
            numbers: of the files, one a row.
            rows: of `ROW`.
        """
        found: list[tuple[bytes, bytes]] = [(b"", b"")] * len(rows)
        order = np.lexsort((rows["offset"], numbers))
        for number in np.unique(numbers):
            with open(self._files[number], "rb") as stream:
                for place in order[numbers[order] == number]:
                    row = rows[place]
                    stream.seek(int(row["offset"]))
                    found[place] = stream.read(int(row["line"])), stream.read(int(row["note"]))
        yield from found


def write_gzip(lines: Iterable[bytes], target: Path, scratch: str) -> None:
    """Writes a file that is either whole or not there; its bytes hold no time and no name.

    Args:
        lines: the content.
        target: the file.
        scratch: a folder on the same file system.
    """
    temporary = Path(scratch) / uuid.uuid4().hex
    # On text, level 1 takes 60 % of the time of level 4 and a quarter of that of 6, for files 12 and 18 % larger.
    with temporary.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as stream:
        stream.writelines(lines)
    temporary.rename(target)
