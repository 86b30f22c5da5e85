"""Files of clean chunks: texts, index rows and hashes, so that Beam only passes their names."""

import itertools
import uuid
from pathlib import Path
from typing import NamedTuple

import numpy as np
from zstandard import ZstdCompressor, ZstdDecompressor

from components.corpus.index import PACKING, ROW, IndexedTexts, IndexRows, Ints
from components.corpus.partitions import lay_out, partition_of
from components.corpus.slices import read_slices, write_slices
from components.text.near_duplicates import Hashes

_NEAR_COLUMNS, _EXACT_COLUMNS = 3, 4


class ChunkSlice(NamedTuple):
    """What a partition reads of a chunk.

    Attributes:
        rows: index rows (documents,) of the keys of the partition, sorted by key and place.
        near: band hashes of the range of the partition (hashes, 3), see `tabulate_hashes`.
        exact: hashes of texts of this range (documents, 4).
    """

    texts: bytes
    rows: IndexRows
    near: Hashes
    exact: Hashes


def write_chunk(texts: IndexedTexts, near: Hashes, exact: Hashes, partitions: int, scratch: str) -> str:
    """Writes a chunk in the order of the corpus and returns the file, whose name is random: Beam may write it twice."""
    order = np.lexsort((texts.rows["place"], texts.rows["key"]))
    rows = texts.rows[order]
    _, ends = lay_out(rows)
    starts = _find_starts(rows["key"], partitions)
    content, packer = memoryview(b"".join(texts.lines[row] for row in order.tolist())), ZstdCompressor(PACKING)
    slices = [packer.compress(content[start:end]) for start, end in itertools.pairwise(ends[starts].tolist())]
    sections = [(b"".join(slices), np.cumsum([0, *map(len, slices)]))]
    sections.append((rows.tobytes(), starts * ROW.itemsize))
    for table in (near, exact):
        ordered = table[np.argsort(table[:, 0])]
        sections.append((ordered.tobytes(), _find_starts(ordered[:, 0], partitions) * ordered.strides[0]))
    file = Path(scratch) / f"{uuid.uuid4().hex}.clean"
    write_slices(file, sections)
    return str(file)


def read_chunk(file: str, partition: int, partitions: int) -> ChunkSlice:
    """Reads what a chunk holds of a partition."""
    texts, rows, near, exact = read_slices(Path(file), partition, partitions, sections=4)
    return ChunkSlice(
        ZstdDecompressor().decompress(texts),
        np.frombuffer(rows, ROW),
        np.frombuffer(near, np.uint64).reshape(-1, _NEAR_COLUMNS),
        np.frombuffer(exact, np.uint64).reshape(-1, _EXACT_COLUMNS),
    )


def _find_starts(sorted_hashes: Hashes, partitions: int) -> Ints:
    return np.searchsorted(partition_of(sorted_hashes, partitions), np.arange(partitions + 1))
