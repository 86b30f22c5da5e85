"""Held-out texts in the shards of a corpus: found, and removed, a shard at a time with Beam."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam

from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions, choose_scale, report_unit, run_over
from components.corpus.index import make_line, write_gzip
from components.corpus.shards import parse_shard
from components.examples.held_out_texts import HeldOutTexts
from components.examples.overlap import Relation
from components.text.sentences import cut_sentences, measure_sentences

_TEXTS = "texts.json"


class CorpusLeaks(NamedTuple):
    """Held-out texts in a corpus, and the rest of the corpus.

    `emptied_parts` has, by `ShardDocument.whole`, the number of parts that were removed as a whole.
    """

    equal: frozenset[int]
    near: frozenset[int]
    removed: int
    documents: int
    sentences: int
    bytes: int
    emptied_parts: Counter[str]


class LeakJob(NamedTuple):
    """The work on each shard; nothing is written where no relation removes sentences."""

    scratch: str
    near: bool
    removed: tuple[Relation, ...]
    output: str
    shards: int


def scan_corpus(
    corpus: Corpus,
    texts: Sequence[str],
    *,
    near: bool,
    folder: Path,
    beam: BeamOptions,
    removed: tuple[Relation, ...] = (),
) -> CorpusLeaks:
    """Looks held-out texts up in a corpus; with `removed`, writes the shards without the sentences that they are.

    Memory holds the texts, and a shard for each worker.

    With `near`, texts are looked for that are nearly the same. `folder` gets temporary files and the remaining shards.
    """
    shards = sorted(str(path) for path in corpus.path.glob("corpus-*.jsonl.gz"))
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        (Path(scratch) / _TEXTS).write_text(json.dumps(list(texts)))
        job = LeakJob(scratch, near, removed, str(folder), len(shards))
        scale = choose_scale(beam, corpus.manifest()["counts"]["bytes"], threaded=False)
        run_over(shards, lambda paths: paths | "Scan" >> apache_beam.ParDo(ScanShardFn(job)), beam, scale=scale)
        totals = Counter(dict.fromkeys(("removed", "documents", "sentences", "bytes"), 0))
        equal, near_numbers, parts = set[int](), set[int](), Counter[str]()
        for shard in shards:
            result = json.loads((Path(scratch) / f"{Path(shard).name}.json").read_text())
            equal.update(result.pop("equal"))
            near_numbers.update(result.pop("near"))
            parts.update(result.pop("emptied_parts"))
            totals.update(result)
    return CorpusLeaks(frozenset(equal), frozenset(near_numbers - equal), **totals, emptied_parts=parts)


class ScanShardFn(apache_beam.DoFn):
    """Scans shards; the texts are read once a worker."""

    def __init__(self, job: LeakJob) -> None:
        self._job = job

    def setup(self) -> None:
        """Reads the texts."""
        self._texts = HeldOutTexts(json.loads((Path(self._job.scratch) / _TEXTS).read_text()), near=self._job.near)

    def process(self, path: str) -> Iterator[Any]:
        """Writes the result of the shard at `path`, and its rest."""
        _scan_shard(Path(path), self._texts, self._job)
        report_unit(self._job.scratch, Path(path).name, self._job.shards, "looking for held-out texts")
        return iter(())


def _scan_shard(path: Path, texts: HeldOutTexts, job: LeakJob) -> None:
    equal, near, parts, lines = set[int](), set[int](), Counter[str](), list[bytes]()
    removed = documents = sentences = size = 0
    for record in parse_shard(path.read_bytes()):
        sizes = record.get("sentences") or measure_sentences(record["text"])
        places = set[int]()
        for match in texts.find_matches(cut_sentences(record["text"], sizes)):
            equal |= match.equal
            near |= match.near
            if ("in" in job.removed and match.equal) or ("near" in job.removed and match.near):
                places.update(match.sentences)
        removed += len(places)
        if len(places) == len(sizes):
            parts.update([record["whole"]] if "whole" in record else [])
            continue
        if places:
            edges = pairwise(accumulate(sizes, initial=0))
            kept = [record["text"][start:end] for place, (start, end) in enumerate(edges) if place not in places]
            # No white space stands around a text.
            kept[0], kept[-1] = kept[0].lstrip(), kept[-1].rstrip() if len(kept) > 1 else kept[0].strip()
            record = {**record, "text": "".join(kept), "sentences": list(map(len, kept))}
        documents, sentences = documents + 1, sentences + len(sizes) - len(places)
        size += len(record["text"].encode())
        if job.removed:
            lines.append(make_line(record))
    if lines:
        write_gzip(lines, Path(job.output) / path.name, job.scratch)
    counts = {"removed": removed, "documents": documents, "sentences": sentences, "bytes": size}
    result = {"equal": sorted(equal), "near": sorted(near), **counts, "emptied_parts": parts}
    (Path(job.scratch) / f"{path.name}.json").write_text(json.dumps(result))
