"""Partitions of a corpus in the making: ranges of document keys, each small enough for one worker's memory."""

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.corpus.index import ROW, IndexedTexts, IndexRows, Ints

# A worker holds one partition at a time: 256 MB of text are 130,000 documents of 2 kB, 36 MB of index and band hashes.
PARTITION_BYTES = 256_000_000
# Beam passes up to three elements a chunk and partition. With more partitions than this, 1 TB would have a billion.
MOST_PARTITIONS = 1024
NOBODY = -1
# The rows of a partition name the file of the text, and the document that a duplicate repeats (or NOBODY).
PARTITION_ROW = np.dtype([*ROW.descr, ("file", "u4"), ("kept", "i8")])
# A document's number has 63 bits: its partition, and 40 for its row in the partition.
_ROW_BITS = 40


class Partition(NamedTuple):
    """The documents of a range of keys, sorted by key and place.

    Attributes:
        number: number of the partition; its keys are below those of the next one.
        rows: the file of its rows (documents,) of type `PARTITION_ROW`.
        files: the file of the names of the files of texts that the rows refer to.
        clash: positions of two neighbours with the same id in the source and different texts; empty without any.
    """

    number: int
    rows: str
    files: str
    clash: tuple[int, ...] = ()

    def load(self) -> IndexRows:
        """The rows, mapped from their file: nothing is read before it is used."""
        return np.load(self.rows, mmap_mode="r")

    def text_files(self) -> Sequence[bytes]:
        """The names of the files of texts."""
        return np.load(self.files, mmap_mode="r")


def count_partitions(size: int) -> int:
    """Number of partitions of a corpus of so many bytes."""
    return min(MOST_PARTITIONS, max(1, -(-size // PARTITION_BYTES)))


def partition_of(hashes: NDArray[np.uint64], count: int) -> Ints:
    """The partition (documents,) of every hash (documents,); it never falls from a smaller hash to a larger one."""
    return (((hashes >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.int64)


def split_by_partition(hashes: NDArray[np.uint64], count: int) -> Iterable[tuple[int, Ints]]:
    """Yields (partition, positions of its hashes) of every partition that has any."""
    yield from _positions_by_number(partition_of(hashes, count))


def _positions_by_number(numbers: Ints) -> Iterable[tuple[int, Ints]]:
    order = np.argsort(numbers, kind="stable")
    present, starts, counts = np.unique(numbers[order], return_index=True, return_counts=True)
    for number, start, count in zip(present.tolist(), starts, counts, strict=True):
        yield number, order[start : start + count]


def as_number(partition: int | Ints, row: int | Ints) -> Any:
    """The number of a document: numbers have the order of the corpus."""
    return (np.asarray(partition) << _ROW_BITS) | row


def split_number(numbers: Ints) -> tuple[Ints, Ints]:
    """The partition and the row of every document's number."""
    return numbers >> _ROW_BITS, numbers & ((1 << _ROW_BITS) - 1)


def unique_rows(table: NDArray[Any]) -> NDArray[Any]:
    """The different rows of a table (rows, columns), sorted; `numpy.unique` takes four times as long."""
    table = table[np.lexsort(table.T[::-1])]
    return table[np.concatenate([[True], (table[1:] != table[:-1]).any(axis=1)])] if len(table) else table


def write_partition(number: int, parts: Iterable[IndexedTexts], scratch: str) -> Partition:
    """Sorts the documents of a partition into the order of the corpus, by key and place, and writes them to a file.

    The names of the files are random because Beam may write the same partition twice.
    """
    texts = list(parts)
    rows = np.empty(sum(len(part.rows) for part in texts), PARTITION_ROW)
    names, start = list(ROW.names or ()), 0
    for file, part in enumerate(texts):
        target = rows[start : start + len(part.rows)]
        target[names] = part.rows
        target["file"] = file
        start += len(part.rows)
    rows["kept"] = NOBODY
    rows = rows[np.lexsort((rows["place"], rows["key"]))]
    stem = Path(scratch) / uuid.uuid4().hex
    partition = Partition(number, f"{stem}.rows.npy", f"{stem}.files.npy", find_clash(rows))
    np.save(partition.rows, rows)
    np.save(partition.files, np.array([os.fsencode(part.file) for part in texts]))
    return partition


def find_clash(rows: IndexRows) -> tuple[int, ...]:
    """Positions of the first neighbours with the same id in the source and different texts; empty without any."""
    same = (rows["key"][1:] == rows["key"][:-1]) & rows["named"][1:] & rows["named"][:-1]
    clashes = np.flatnonzero(same & (rows["whole"][1:] != rows["whole"][:-1]))
    return (int(clashes[0]), int(clashes[0]) + 1) if len(clashes) else ()


def locate(rows: IndexRows, keys: NDArray[np.uint64], places: NDArray[np.uint64]) -> Ints:
    """The row (documents,) of every document, by its key and place; all must be in the partition.

    `rows` are sorted; `keys` and `places` are (documents,).
    """
    row_keys, row_places = np.array(rows["key"]), np.array(rows["place"])
    low, high = (np.searchsorted(row_keys, keys, side) for side in ("left", "right"))
    # Several documents share a key if they share an id or a text: bisection among their places.
    while (low < high).any():
        middle = (low + high) // 2
        before = (low < high) & (row_places[np.minimum(middle, len(row_places) - 1)] < places)
        low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
    return low


class PartitionTables:
    """Tables of 64-bit numbers in files, one a partition, for what does not fit into memory at once."""

    def __init__(self, folder: Path, width: int) -> None:
        self._stem, self._width = folder / uuid.uuid4().hex, width

    def append(self, partitions: Ints, table: Ints) -> None:
        """Adds the rows of a table (rows, width) to the files of their partitions (rows,)."""
        for number, positions in _positions_by_number(partitions):
            with self._file(number).open("ab") as stream:
                stream.write(np.ascontiguousarray(table[positions], np.int64).data)

    def read(self, partition: int) -> Ints:
        """The table (rows, width) of a partition."""
        file = self._file(partition)
        return (
            np.fromfile(file, np.int64).reshape(-1, self._width) if file.exists() else np.empty((0, self._width), int)
        )

    def drop(self, partition: int) -> None:
        """Deletes the table of a partition."""
        self._file(partition).unlink(missing_ok=True)

    def _file(self, partition: int) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{partition}")
