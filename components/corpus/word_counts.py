"""Counts the words of a corpus with Beam."""

import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from apache_beam import CombinePerKey, FlatMap, Map
from tensorflow_text.python.ops.bert_tokenizer import BasicTokenizer

from components.beam.engine import BeamOptions, report_unit, run_over
from components.corpus.shards import read_shard
from keras_bert.core.folders import write_whole

# Words are counted in dictionaries, one element a bucket: Beam's cost grows with the number of elements.
_BUCKETS = 32
_BATCH = 256


def count_words(shards: list[Path], lowercase: bool, beam: BeamOptions, size: int, scratch: Path) -> dict[str, int]:
    """Counts of the words of all shards, as BERT's basic tokenizer splits them.

    `size` is that of the shards in bytes of text.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        run_over(
            [str(shard) for shard in shards],
            lambda paths: (
                paths
                | "Count" >> FlatMap(_count_unit, lowercase, folder, len(shards))
                | "Add" >> CombinePerKey(add_counts)
                | "Write" >> Map(_write_bucket, folder)
            ),
            beam,
            size,
        )
        counts: dict[str, int] = {}
        for file in sorted(Path(folder).glob("*.json")):
            counts.update(json.loads(file.read_text()))
    return counts


def _count_unit(path: str, lowercase: bool, folder: str, total: int) -> list[tuple[int, dict[str, int]]]:
    buckets = list(count_shard(path, lowercase))
    report_unit(folder, Path(path).name, total, "counting words")
    return buckets


def count_shard(path: str, lowercase: bool) -> Iterator[tuple[int, dict[str, int]]]:
    """Yields (bucket, counts of its words) of a shard; the bucket of a word is its hash."""
    splitter = BasicTokenizer(lower_case=lowercase)
    lines = [line for _, text in read_shard(Path(path).read_bytes()) for line in text.split("\n")]
    counts: Counter[bytes] = Counter()
    for start in range(0, len(lines), _BATCH):
        counts.update(splitter.tokenize(lines[start : start + _BATCH]).flat_values.numpy())
    buckets: dict[int, dict[str, int]] = {}
    for word, count in counts.items():
        buckets.setdefault(zlib.crc32(word) % _BUCKETS, {})[word.decode()] = count
    yield from buckets.items()


def add_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """The sum of dictionaries of counts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _write_bucket(item: tuple[int, dict[str, int]], folder: str) -> None:
    bucket, counts = item
    write_whole(Path(folder) / f"{bucket:02d}.json", counts)
