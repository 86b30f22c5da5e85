"""Counts the words of a corpus with Beam; neither workers nor the launching process hold all different words."""

import itertools
import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from apache_beam import Map
from apache_beam.pvalue import AsList
from tensorflow_text.python.ops.bert_tokenizer import BasicTokenizer

from components.beam.engine import BeamOptions, begin, choose_scale, report_unit, run_over, spread
from components.corpus.shards import read_shard
from components.corpus.slices import read_slices, write_slices
from keras_bert.core.folders import replaced_file, write_whole

# A worker adds up the words of one bucket at a time; the bucket of a word is its hash.
_BUCKETS = 32
# Words of a bucket that a sum keeps, 8 million in all; it drops the rarest when it has twice as many.
_MOST_ADDED = 1 << 18
# Words of a bucket that the launching process gets, a million in all: ten times as many as the learner uses.
_MOST_WORDS = 1 << 15
# Consecutive shards are counted together: 250 MB of text at 1 TB.
_MOST_GROUPS = 4096
_BATCH = 256


class WordCounts(NamedTuple):
    """The words of a corpus; counts are at most `error` too low: 0 up to 16 million different words."""

    counts: dict[str, int]
    words: int
    error: int


class GroupsJob(NamedTuple):
    """The settings that all groups of shards share."""

    lowercase: bool
    folder: str
    groups: int
    shards: int

    def file(self, group: int) -> Path:
        """The file of the counts of a group, in slices by bucket."""
        return Path(self.folder) / f"{group:05d}.counts"


def count_words(shards: list[Path], lowercase: bool, beam: BeamOptions, size: int, scratch: Path) -> WordCounts:
    """Counts of the words of all shards, as BERT's basic tokenizer splits them.

    `size` is the size of the shards in bytes of text.
    """
    scale = choose_scale(beam, size, threaded=False)
    bounds = np.linspace(0, len(shards), min(len(shards), _MOST_GROUPS) + 1).astype(int).tolist()
    groups = [(number, list(map(str, shards[slice(*ends)]))) for number, ends in enumerate(itertools.pairwise(bounds))]
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        job = GroupsJob(lowercase, folder, len(groups), len(shards))

        def build(units: Any) -> None:
            counted = AsList(units | "Count" >> Map(_count_group, job))
            buckets = spread(begin(units.pipeline, "Buckets", list(range(_BUCKETS)), scale), "Spread buckets", scale)
            _ = buckets | "Add" >> Map(_add_bucket, counted, job)

        run_over(groups, build, beam, scale=scale)
        parts = [WordCounts(**json.loads(file.read_text())) for file in sorted(Path(folder).glob("*.json"))]
    counts = {word: count for part in parts for word, count in part.counts.items()}
    return WordCounts(counts, sum(part.words for part in parts), max(part.error for part in parts))


def _count_group(group: tuple[int, list[str]], job: GroupsJob) -> int:
    """Counts the words of consecutive shards into a file, and returns the number of the group."""
    number, shards = group
    splitter = BasicTokenizer(lower_case=job.lowercase)
    counts: Counter[bytes] = Counter()
    for shard in map(Path, shards):
        lines = [line for _, text in read_shard(shard.read_bytes()) for line in text.split("\n")]
        for start in range(0, len(lines), _BATCH):
            counts.update(splitter.tokenize(lines[start : start + _BATCH]).flat_values.numpy())
        report_unit(job.folder, shard.name, job.shards, "counting words")
    buckets: list[dict[str, int]] = [{} for _ in range(_BUCKETS)]
    for word, count in counts.items():
        buckets[zlib.crc32(word) % _BUCKETS][word.decode()] = count
    contents = [json.dumps(bucket, ensure_ascii=False).encode() for bucket in buckets]
    with replaced_file(job.file(number)) as unfinished:
        write_slices(unfinished, [(b"".join(contents), np.cumsum([0, *map(len, contents)]))])
    return number


def _add_bucket(bucket: int, _: list[int], job: GroupsJob) -> None:
    """Adds up a bucket of all groups into a file; the list says that all are counted."""
    files = map(job.file, range(job.groups))
    sums = add_counts((json.loads(read_slices(file, bucket, _BUCKETS)[0]) for file in files), _MOST_ADDED)
    kept, _dropped = keep_frequent(sums.counts, _MOST_WORDS)
    write_whole(Path(job.folder) / f"{bucket:02d}.json", sums._replace(counts=kept)._asdict())


def add_counts(parts: Iterable[Mapping[str, int]], most: int) -> WordCounts:
    """The sums of counts, in bounded memory: whenever there are more than 2 * `most` words, the rarest are dropped.

    That is lossy counting (Manku and Motwani 2002) with as many words as memory holds in the place of a rate. The sums
    only depend on the order of the parts. `WordCounts.error` adds up the highest count that each round dropped.
    """
    total: Counter[str] = Counter()
    error = 0
    for part in parts:
        total.update(part)
        if len(total) > 2 * most:
            kept, dropped = keep_frequent(total, most)
            total, error = Counter(kept), error + dropped
    return WordCounts(dict(total), len(total), error)


def keep_frequent(counts: Mapping[str, int], most: int) -> tuple[dict[str, int], int]:
    """The most frequent words, the first ones of equally frequent words, and the highest count of the others."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:most]), max((count for _, count in ranked[most:]), default=0)
