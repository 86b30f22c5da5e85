"""Memory and time of the plan of a corpus that is made up as counts: `python -m benchmarks.corpus_plan --gigabytes 10`.

Every document has an index row and band hashes as `ingest_corpus` makes them, but no text. A share of the documents is
near to another one: it shares a band hash with it, so that chains form. Workers' parts (sorting a partition, linking
equal hashes) and the plan run one after the other in this process, each with the peak of memory that it reached.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from components.corpus.index import ROW
from components.corpus.links import Links, write_links
from components.corpus.partitions import Partition, PartitionTables, count_partitions, partition_of, write_partition
from components.corpus.plan import NEAR, make_plan, shard_size
from components.text.near_duplicates import Hashes

_BANDS = 9
_SEED = 0


def main() -> None:
    """Prints a line for each part of the work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1, help="size of the text that the counts stand for")
    parser.add_argument("--document", type=int, default=2000, help="bytes of a document")
    parser.add_argument("--repeats", type=float, default=0.3, help="share of documents that are near to another one")
    parser.add_argument("--partitions", type=int, help="number of partitions, else as `ingest_corpus` chooses it")
    options = parser.parse_args()
    size = int(options.gigabytes * 1e9)
    count = options.partitions or count_partitions(size)
    documents = size // options.document
    print(f"{documents:,} documents, {count} partitions, {psutil.virtual_memory().total / 1e9:.0f} GB machine")
    with tempfile.TemporaryDirectory() as scratch:
        with Stage("sort partitions"):
            partitions = list(_make_partitions(documents, options.document, count, scratch))
        with Stage("link equal hashes"):
            links = list(_make_links(documents, options.repeats, count, scratch))
        with Stage("plan"):
            plan = make_plan(partitions, links, scratch)
            shards = sum(1 for _ in plan.pack(shard_size(plan.tally.kept_bytes, 1_000_000), kept=True))
        kept = sum(plan.tally.kept_by_partition)
        files = sum(file.stat().st_size for file in Path(scratch).iterdir())
        print(f"{kept:,} documents stay, in {shards:,} shards; {files / 1e9:.2f} GB of scratch files")


class Stage:
    """Prints the time that a part of the work took, and the peak of this process's memory in it."""

    def __init__(self, name: str) -> None:
        self._name, self._peak, self._is_over = name, 0, threading.Event()
        self._watch = threading.Thread(target=self._measure, daemon=True)

    def __enter__(self) -> None:
        self._start = time.perf_counter()
        self._watch.start()

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._watch.join()
        print(
            f"{self._name:20} {time.perf_counter() - self._start:7.1f} s, peak {self._peak / 1e6:6.0f} MB", flush=True
        )

    def _measure(self) -> None:
        process = psutil.Process()
        while not self._is_over.wait(0.02):
            # Without pages that other processes share, such as those of mapped files.
            self._peak = max(self._peak, process.memory_info().rss - process.memory_info().shared)


def _keys(numbers: Hashes, salt: int) -> Hashes:
    """Hashes (documents,) of numbers: splitmix64 (Steele, Lea and Flood 2014)."""
    mixed = (numbers * np.uint64(16) + np.uint64(salt + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _numbers(documents: int) -> Iterator[Hashes]:
    for start in range(0, documents, 1_000_000):
        yield np.arange(start, min(documents, start + 1_000_000), dtype=np.uint64)


def _make_partitions(documents: int, size: int, count: int, scratch: str) -> Iterator[Partition]:
    tables = PartitionTables(Path(scratch), 2)
    for numbers in _numbers(documents):
        keys = _keys(numbers, 0)
        tables.append(partition_of(keys, count), np.stack([keys, numbers], axis=1).view(np.int64))
    for number in range(count):
        keys, places = tables.read(number).view(np.uint64).T
        rows = np.zeros(len(keys), ROW)
        rows["key"], rows["place"], rows["bytes"], rows["first"] = keys, places, size, True
        rows["high"] = rows["whole"] = keys
        tables.drop(number)
        # A line without bytes.
        yield write_partition(number, [b""], [rows], scratch)


def _make_links(documents: int, share: float, count: int, scratch: str) -> Iterator[Links]:
    """A repeat shares one band with the document before it, so that runs of repeats are chains."""
    limit = np.uint64(int(share * 2**64))
    tables = PartitionTables(Path(scratch), 3)
    for numbers in _numbers(documents):
        keys, is_repeat = _keys(numbers, 0), (_keys(numbers, 1) < limit) & (numbers > 0)
        for band in range(_BANDS):
            is_shared = is_repeat & (_keys(numbers, 2) % np.uint64(_BANDS) == band)
            hashes = _keys(np.where(is_shared, numbers - np.uint64(1), numbers), 3 + band)
            tables.append(partition_of(hashes, count), np.stack([hashes, keys, numbers], axis=1).view(np.int64))
    for number in range(count):
        table = tables.read(number).view(np.uint64)
        tables.drop(number)
        links = write_links(NEAR, table, count, scratch)
        yield from [links] if links else []


if __name__ == "__main__":
    main()
