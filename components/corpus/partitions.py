"""Partitions of a corpus in the making: ranges of document keys, each small enough for one worker's memory."""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from zstandard import ZstdCompressor

from components.corpus.index import PACKING, ROW, IndexRows, Ints

# A worker holds one partition at a time, with its texts: 64 MB are 32,000 documents of 2 kB, and 10 MB of index and
# band hashes.
PARTITION_BYTES = 64_000_000
# Each partition opens the file of each chunk.
MOST_PARTITIONS = 1024
# No document: `kept` of a document that is no duplicate of another.
NOBODY = -1
# The rows of a partition say where the line is in the file of texts: where its frame of zstandard begins, and the place
# in the unpacked frame; and which document a duplicate repeats.
PARTITION_ROW = np.dtype([*ROW.descr, ("frame", "i8"), ("offset", "i8"), ("kept", "i8")])
# Of the texts of a frame. A shard reads a part of two frames in vain.
_FRAME_BYTES = 1 << 18
# Of the rows that wait in memory for the files of their partitions.
_WAITING_BYTES = 64_000_000
# A document's number has 63 bits: its partition, and 40 for its row in the partition.
_ROW_BITS = 40


class Partition(NamedTuple):
    """The documents of a range of keys, sorted by key and place: files of their rows (`PARTITION_ROW`) and texts.

    `clash` are the positions of two neighbours with the same id in the source and different texts; empty without any.
    """

    number: int
    rows: str
    texts: str
    clash: tuple[int, ...] = ()

    def load(self) -> IndexRows:
        """The rows, mapped from their file: nothing is read before it is used."""
        return np.load(self.rows, mmap_mode="r")


def count_partitions(size: int) -> int:
    """Number of partitions of a corpus of so many bytes."""
    return min(MOST_PARTITIONS, max(1, -(-size // PARTITION_BYTES)))


def partition_of(hashes: NDArray[np.uint64], count: int) -> Ints:
    """The partition (documents,) of every hash (documents,); it never falls from a smaller hash to a larger one."""
    return (((hashes >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.int64)


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


def write_partition(number: int, texts: Sequence[bytes], rows: Sequence[IndexRows], scratch: str) -> Partition:
    """Sorts the documents of a partition into the order of the corpus, by key and place, and writes them to files.

    `texts` and `rows` are those of each chunk, see `ChunkSlice`. The names of the files are random because Beam may
    write the same partition twice.
    """
    chunks = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    starts = np.concatenate([lay_out(part)[0] for part in rows])
    table = np.concatenate(rows)
    order = np.lexsort((table["place"], table["key"]))
    table = table[order]
    sorted_rows = np.empty(len(table), PARTITION_ROW)
    sorted_rows[list(ROW.names or ())] = table
    sorted_rows["kept"] = NOBODY
    stem = Path(scratch) / uuid.uuid4().hex
    # The first neighbours with the same id in the source and different texts.
    same = (sorted_rows["key"][1:] == sorted_rows["key"][:-1]) & sorted_rows["named"][1:] & sorted_rows["named"][:-1]
    clashes = np.flatnonzero(same & (sorted_rows["whole"][1:] != sorted_rows["whole"][:-1]))
    clash = (int(clashes[0]), int(clashes[0]) + 1) if len(clashes) else ()
    partition = Partition(number, f"{stem}.rows.npy", f"{stem}.texts", clash)
    begins, ends = lay_out(table)
    places = list(zip(chunks[order].tolist(), starts[order].tolist(), np.diff(ends).tolist(), strict=True))
    packer = ZstdCompressor(PACKING)
    with open(partition.texts, "wb") as stream:
        for _, rows_of_frame in _positions_by_number(begins // _FRAME_BYTES):
            first, last = int(rows_of_frame[0]), int(rows_of_frame[-1]) + 1
            sorted_rows["frame"][first:last] = stream.tell()
            sorted_rows["offset"][first:last] = begins[first:last] - begins[first]
            pieces = (memoryview(texts[chunk])[start : start + size] for chunk, start, size in places[first:last])
            stream.write(packer.compress(b"".join(pieces)))
    np.save(partition.rows, sorted_rows)
    return partition


def lay_out(rows: IndexRows) -> tuple[Ints, Ints]:
    """Offsets (documents,) of the texts of rows, one behind the other, and the ends (documents + 1,) from 0 on."""
    ends = np.concatenate([[0], np.cumsum(rows["line"].astype(np.int64) + rows["note"])])
    return ends[:-1], ends


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
    """Tables of 64-bit numbers in files, one a partition, for what does not fit into memory at once.

    Rows wait in memory for others: rows of each partition, one after the other, would open 1024 times 1024 files.
    """

    def __init__(self, folder: Path, width: int, name: str = "") -> None:
        self._stem, self._width = folder / (name or uuid.uuid4().hex), width
        self._waiting: list[tuple[Ints, Ints]] = []
        self._waiting_bytes = 0

    def append(self, partitions: Ints, table: Ints) -> None:
        """Adds the rows of a table (rows, width) to the tables of their partitions (rows,)."""
        self._waiting.append((partitions, table))
        self._waiting_bytes += partitions.nbytes + table.nbytes
        if self._waiting_bytes > _WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes the waiting rows to the files."""
        if not self._waiting:
            return
        partitions, table = map(np.concatenate, zip(*self._waiting, strict=True))
        self._waiting, self._waiting_bytes = [], 0
        for number, positions in _positions_by_number(partitions):
            with self._file(number).open("ab") as stream:
                stream.write(np.ascontiguousarray(table[positions], np.int64).data)

    def read(self, partition: int) -> Ints:
        """The table (rows, width) of a partition."""
        self.flush()
        file = self._file(partition)
        return (
            np.fromfile(file, np.int64).reshape(-1, self._width) if file.exists() else np.empty((0, self._width), int)
        )

    def drop(self, partition: int) -> None:
        """Deletes the table of a partition."""
        self._file(partition).unlink(missing_ok=True)

    def _file(self, partition: int) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{partition}")
