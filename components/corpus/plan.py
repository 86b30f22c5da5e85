"""Decides which documents stay in a corpus and which shard holds them; one process plans, a partition at a time."""

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from components.corpus.cleaning import EXACT_DUPLICATE, NEAR_DUPLICATE, REASONS
from components.corpus.clusters import link_to_first
from components.corpus.index import IndexRows, Ints
from components.corpus.links import Links, resolve_links
from components.corpus.partitions import NOBODY, Partition, PartitionTables, as_number, partition_of, split_number

# Later steps read a whole shard as their unit of work. `_MANY_SHARDS` are enough for many cores. In a larger corpus
# shards grow instead, up to `_GROWTH` times, which still fits in memory.
_MANY_SHARDS = 64
_GROWTH = 4
NEAR, EXACT = "near", "exact"


class RowRange(NamedTuple):
    """Rows from `start` up to `stop` of a partition."""

    partition: int
    start: int
    stop: int


class CorpusPlan:
    """All documents in the order of the corpus, with the final reasons, by partition.

    Attributes:
        partitions: the partitions by number; those without documents are missing.
        file: a file that `load_plan` reads; `find_requests` has the originals of duplicates.
    """

    def __init__(self, partitions: Sequence[Partition], tally: "CorpusTally", file: str) -> None:
        self.partitions, self.tally, self.file = partitions, tally, file
        self._scratch = Path(file).parent
        self._positions = lru_cache(maxsize=1)(self._find_positions)
        Path(self.file).write_text(json.dumps([partition[:3] for partition in partitions]))

    def pack(self, most: int, *, kept: bool) -> Iterator[list[RowRange]]:
        """Splits consecutive documents into shards, see `pack`; yields the spans of each.

        The documents are those that stay (`kept`), else those that were dropped.
        """
        counts = self.tally.kept_by_partition if kept else self.tally.dropped_by_partition
        total = self.tally.kept_bytes if kept else self.tally.bytes - self.tally.kept_bytes
        sizes = (size for number in range(len(counts)) for size in self._sizes(number, kept))
        ends = list(pack(sizes, sum(counts), total, most))
        bounds = np.cumsum([0, *counts])
        for start, end in itertools.pairwise([0, *ends]):
            spans = []
            for number in range(np.searchsorted(bounds, start, "right") - 1, np.searchsorted(bounds, end, "left")):
                positions = self._positions(number, kept)
                local = positions[max(0, start - bounds[number]) : end - bounds[number]]
                if len(local):
                    spans.append(RowRange(self.partitions[number].number, int(local[0]), int(local[-1]) + 1))
            yield spans

    def count_parts(self) -> Iterator[tuple[str, int]]:
        """Number of parts that stay in the corpus, by the hexadecimal hash of the text of the cut document, sorted.

        A range of hashes is in memory at a time.
        """
        tables, count = PartitionTables(self._scratch, 1), len(self.partitions)
        for partition in self.partitions:
            rows = partition.load()
            wholes = rows["whole"][(rows["reason"] == 0) & (rows["whole"] != rows["high"])]
            tables.append(partition_of(wholes, count), wholes.view(np.int64)[:, None])
        for number in range(count):
            different, counts = np.unique(tables.read(number).view(np.uint64), return_counts=True)
            yield from zip((f"{whole:016x}" for whole in different.tolist()), counts.tolist(), strict=True)

    def _sizes(self, number: int, kept: bool) -> list[int]:
        sizes: list[int] = self.partitions[number].load()["bytes"][self._find_positions(number, kept)].tolist()
        return sizes

    def _find_positions(self, number: int, kept: bool) -> Ints:
        return np.flatnonzero((self.partitions[number].load()["reason"] == 0) == kept)


@lru_cache(maxsize=1)
def load_plan(file: str) -> dict[int, Partition]:
    """The partitions of a plan by number."""
    partitions = [Partition(*fields) for fields in json.loads(Path(file).read_text())]
    return {partition.number: partition for partition in partitions}


def find_requests(file: str) -> PartitionTables:
    """The numbers of the originals of dropped duplicates and of these (duplicates, 2), by partition of the original."""
    return PartitionTables(Path(file).parent, 2, Path(file).name)


def make_plan(partitions: Sequence[Partition], links: Sequence[Links], scratch: str) -> CorpusPlan:
    """Marks duplicates; the order of the arguments does not matter.

    The first of several equal texts stays, and the first of several near duplicates that links connect. Documents are
    ordered by the hash of the id, then by the place in the source. The stronger reason wins: a document may be both an
    exact and a near duplicate.

    `links` are pairs of near duplicates (`NEAR`) and of documents with the same text (`EXACT`).
    """
    partitions = sorted(partitions)
    folder = Path(scratch)
    by_kind = {kind: [part for part in links if part.kind == kind] for kind in (NEAR, EXACT)}
    near, exact = (resolve_links(parts, partitions, folder) for parts in by_kind.values())
    near = link_to_first(near, [partition.number for partition in partitions], folder)
    # Unique names, here and below, because two processes may make the same plan at once.
    file, tally, marked = str(folder / f"{uuid.uuid4().hex}.plan"), CorpusTally(), []
    requests = find_requests(file)
    for partition in partitions:
        rows = np.load(partition.rows)
        for reason, table in ((NEAR_DUPLICATE, near), (EXACT_DUPLICATE, exact)):
            links_of_rows = table.read(partition.number)
            _, repeats = split_number(links_of_rows[:, 0])
            rows["reason"][repeats], rows["kept"][repeats] = REASONS.index(reason), links_of_rows[:, 1]
            table.drop(partition.number)
        tally.add(rows)
        repeats = np.flatnonzero(rows["kept"] != NOBODY)
        originals = rows["kept"][repeats]
        requests.append(split_number(originals)[0], np.stack([originals, as_number(partition.number, repeats)], axis=1))
        marked.append(partition._replace(rows=str(folder / f"{uuid.uuid4().hex}.rows.npy")))
        np.save(marked[-1].rows, rows)
    requests.flush()
    return CorpusPlan(marked, tally, file)


def pack(sizes: Iterable[int], count: int, total: int, most: int) -> Iterator[int]:
    """Yields where shards of consecutive documents end, of about equal size, at most about `most` bytes.

    A shard holds at least two documents, because a random next sentence comes from another document. Sizes are in
    bytes; `count` is the number of all documents, `total` their size.
    """
    if not count:
        return
    shards = min(max(1, round(total / most)), max(1, count // 2))
    start = done = made = 0
    for position, size in enumerate(sizes):
        done += size
        enough = done * shards >= total * (made + 1)
        if position - start >= 1 and enough and made + 1 < shards and count - position > 2:
            yield position + 1
            start, made = position + 1, made + 1
    yield count


def shard_size(total: int, least: int) -> int:
    """The size of a shard in bytes: `least`; for a corpus of more than 64 such shards up to four times that."""
    return min(max(least, total // _MANY_SHARDS), _GROWTH * least)


class CorpusTally:
    """Counts documents, a partition at a time.

    It grows with the number of different sizes, at most some 65,000 but for longer lines.
    """

    def __init__(self) -> None:
        self.bytes = self.kept_bytes = self._first = self._sentences = 0
        self.kept_by_partition: list[int] = []
        self.dropped_by_partition: list[int] = []
        self._reasons = np.zeros(len(REASONS), np.int64)
        self._sizes: Counter[int] = Counter()

    def add(self, rows: IndexRows) -> None:
        """Counts a partition with its final reasons."""
        kept = rows[rows["reason"] == 0]
        self.kept_by_partition.append(len(kept))
        self.dropped_by_partition.append(len(rows) - len(kept))
        self.bytes += int(rows["bytes"].sum())
        self.kept_bytes += int(kept["bytes"].sum())
        self._first += int(rows["first"].sum())
        self._sentences += int(kept["sentences"].sum())
        self._reasons += np.bincount(rows["reason"], minlength=len(REASONS))
        different, counts = np.unique(kept["bytes"], return_counts=True)
        self._sizes.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))

    def describe(self, shards: int) -> dict[str, dict[str, Any]]:
        """The statistics of a corpus, {title: {label: value}}; they depend only on the data."""
        kept, total = sum(self.kept_by_partition), int(self._reasons.sum())
        return {
            "documents": {
                "in the source": self._first,
                "after long ones were cut": total,
                "dropped": total - kept,
                "kept": kept,
            },
            "dropped": {reason: count for reason, count in zip(REASONS, self._reasons.tolist(), strict=True) if reason},
            "text": {
                "bytes": self.kept_bytes,
                "bytes dropped": self.bytes - self.kept_bytes,
                "sentences": self._sentences,
                "shards": shards,
            },
            "bytes a document": {
                label: self._size_quantile(share)
                for label, share in (("smallest", 0), ("10 %", 0.1), ("median", 0.5), ("90 %", 0.9), ("largest", 1))
            },
        }

    def _size_quantile(self, share: float) -> int:
        """The quantile of the sizes as `numpy.quantile` gives it, from the number of documents of each size."""
        if not self._sizes:
            return 0
        sizes, counts = (np.array(column) for column in zip(*sorted(self._sizes.items()), strict=True))
        ends = np.cumsum(counts)
        place = share * (ends[-1] - 1)
        neighbours = sizes[np.searchsorted(ends, [int(place), min(int(place) + 1, ends[-1] - 1)], "right")]
        return int(np.quantile(neighbours, place - int(place)))
