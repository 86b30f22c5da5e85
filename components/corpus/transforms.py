"""The Beam transforms of `ingest_corpus`: files -> chunks -> clean texts with an index -> plan -> shards.

Texts do not travel through Beam (decision 0010). They are stored in files with unique names, in a scratch folder that
all workers share, and Beam passes their index. A bundle that runs again leaves files that no index refers to.
"""

import dataclasses
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics
from numpy.typing import NDArray

from components.beam.engine import Scale, report_unit, spread
from components.beam.threaded_fn import ThreadedFn
from components.corpus.chunks import CHUNK_CHARACTERS, Chunk, clean_chunk, gather
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import MOST_CHUNKS, MOST_FILES, IndexedTexts, IndexRows, TextsReader, make_line, write_gzip
from components.corpus.plan import NOBODY, CorpusPlan, count_parts, describe, make_plan, pack, shard_size
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Hashes, Signer, find_pairs

STEP = "ingest_corpus"
PLAN = "plan.json"
# The kinds of results of `CleanFn`: input of the plan, and bands to be grouped before.
REPORT, BAND = "report", "band"
_BUCKETS = 64
_EMPTY = "the corpus must hold at least one document, got"


@dataclasses.dataclass(frozen=True)
class CorpusJob:
    """The settings that all transforms share.

    Attributes:
        source: the source of the documents.
        cleaning: cleaning options.
        output: the folder of the shards.
        scratch: the folder of all intermediate files; on the same file system.
        shard_bytes: size of a shard of a small corpus in bytes.
        scale: number of processes and threads.
    """

    source: TextSource | DocstringCorpus
    cleaning: Cleaning
    output: str
    scratch: str
    shard_bytes: int
    scale: Scale


class Unit(NamedTuple):
    """A file of the source and its number; all docstrings are one unit."""

    number: int
    file: str


class ShardPlan(NamedTuple):
    """One of `total` files to write: the index rows of its documents, and of the documents that they duplicate."""

    name: str
    total: int
    files: list[str]
    numbers: NDArray[np.int64]
    rows: IndexRows
    kept: NDArray[np.int64]
    kept_numbers: NDArray[np.int64]
    kept_rows: IndexRows


def build(units: Any, job: CorpusJob) -> None:
    """Applies all transforms to the units of work."""
    read = spread(units | "Read" >> beam.ParDo(ReadFn(job)), "Spread chunks", job.scale)
    cleaned = read | "Clean" >> beam.ParDo(CleanFn(job))
    pairs = _take(cleaned, BAND) | "Same band" >> beam.GroupByKey() | "Pair" >> beam.FlatMap(_pair_bucket)
    side_inputs = [beam.pvalue.AsList(collection) for collection in (_take(cleaned, REPORT), pairs)]
    shards = units.pipeline | "Once" >> beam.Impulse() | "CorpusPlan" >> beam.FlatMap(_plan, *side_inputs, job)
    _ = spread(shards, "Spread shards", job.scale) | "Write" >> beam.ParDo(WriteFn(job))


def _take(results: Any, kind: str) -> Any:
    """The results of a kind; no tagged outputs, because Beam 2.77's DaskRunner gives all of them to every consumer."""
    return results | f"Take {kind}" >> beam.FlatMap(lambda item: [item[1]] if item[0] == kind else [])


def find_units(source: TextSource | DocstringCorpus) -> list[Unit]:
    """The units of work of a source.

    Raises:
        InputError: there are too many files; also see `TextSource.files`.
    """
    files = source.files()
    if len(files) > MOST_FILES:
        raise InputError(f"the corpus must hold at most {MOST_FILES} files, got {len(files)}; join some of them")
    return [Unit(number, file) for number, file in enumerate(files)]


class Problem(NamedTuple):
    """A user's error in a unit. It is passed on as a result, because Beam would retry and wrap an exception."""

    unit: int
    text: str


class ReadFn(beam.DoFn):
    """Reads a unit into chunks, or a problem.

    Its time includes the time of the transforms that Beam fuses with it.
    """

    def __init__(self, job: CorpusJob) -> None:
        self.job = job
        self._milliseconds = Metrics.counter(STEP, "ReadFn ms")

    def process(self, unit: Unit) -> Iterator[Any]:
        """Reads a file."""
        began = time.monotonic()
        try:
            for number, documents in enumerate(gather(self.job.source.documents(unit.file), CHUNK_CHARACTERS)):
                if number == MOST_CHUNKS:
                    rule = f"at most {MOST_CHUNKS} chunks of {CHUNK_CHARACTERS} characters"
                    raise InputError(f"the file {unit.file} must hold {rule}, got more; split it into several files")
                content = documents if self.job.scale.alone else _store(documents, self.job.scratch)
                yield Chunk(unit.number, number, content)
        except InputError as error:
            yield Problem(unit.number, str(error))
        self._milliseconds.inc(round(1000 * (time.monotonic() - began)))


def _store(documents: list[Document], scratch: str) -> str:
    file = Path(scratch) / f"{uuid.uuid4().hex}.chunk"
    file.write_text(json.dumps(documents, ensure_ascii=False), encoding="utf-8")
    return str(file)


def _fetch(file: str) -> list[Document]:
    return [Document(*fields) for fields in json.loads(Path(file).read_text(encoding="utf-8"))]


class CleanFn(ThreadedFn):
    """Cleans a chunk into `IndexedTexts` and band hashes by bucket; passes problems on."""

    def __init__(self, job: CorpusJob) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def setup(self) -> None:
        """Prepares the signatures and counters."""
        super().setup()
        cleaning = self.job.cleaning
        self._signer = (
            Signer(cleaning.threshold, cleaning.permutations, cleaning.shingle) if cleaning.near_duplicates else None
        )
        self._counters = {reason: Metrics.counter(STEP, reason or "kept by rules") for reason in REASONS}

    def work(self, chunk: Chunk | Problem) -> Iterator[Any]:
        """Cleans a chunk."""
        if isinstance(chunk, Problem):
            yield REPORT, chunk
            return
        content = chunk.content
        documents = _fetch(content) if isinstance(content, str) else content
        texts, bands, places = clean_chunk(chunk, documents, self.job.cleaning, self._signer, self.job.scratch)
        yield REPORT, texts
        for bucket in range(_BUCKETS if len(bands) else 0):
            in_bucket = bands % np.uint64(_BUCKETS) == bucket
            yield BAND, (bucket, (bands[in_bucket], places[in_bucket]))

    def note(self, result: tuple[str, Any]) -> None:
        """Counts the documents by the reason for which they were dropped."""
        if isinstance(result[1], IndexedTexts):
            for reason, count in enumerate(np.bincount(result[1].rows["reason"], minlength=len(REASONS)).tolist()):
                self._counters[REASONS[reason]].inc(count)


def _pair_bucket(item: tuple[int, Iterable[tuple[Hashes, Hashes]]]) -> Iterator[Hashes]:
    parts = list(item[1])
    pairs = find_pairs(np.concatenate([bands for bands, _ in parts]), np.concatenate([places for _, places in parts]))
    if len(pairs):
        yield pairs


def _plan(
    _: bytes, reports: Sequence[IndexedTexts | Problem], pairs: Sequence[Hashes], job: CorpusJob
) -> Iterator[ShardPlan]:
    """Plans all shards; the driver reads statistics and problems from a file."""
    problems = [report for report in reports if isinstance(report, Problem)]
    texts = [report for report in reports if isinstance(report, IndexedTexts)]
    if problems or not texts:
        _write_result(job, {"problem": min(problems).text if problems else f"{_EMPTY} only blank text"})
        return
    plan = make_plan(texts, pairs, exact=job.cleaning.exact_duplicates)
    clashes = plan.clashes()
    if len(clashes):
        _write_result(job, {"problem": _describe_clash(plan, clashes[0])})
        return
    kept = np.flatnonzero(plan.rows["reason"] == 0)
    dropped = np.flatnonzero(plan.rows["reason"])
    total = int(plan.rows["bytes"][kept].sum())
    shards = list(_plan_shards("corpus", plan, kept, shard_size(total, job.shard_bytes)))
    statistics = describe(plan, len(shards))
    if not len(kept):
        reasons = ", ".join(f"{count} {reason}" for reason, count in statistics["dropped"].items() if count)
        _write_result(job, {"problem": f"{_EMPTY} none after cleaning: {reasons}"})
        return
    _write_result(job, {"statistics": statistics, "cut_documents": count_parts(plan)})
    yield from shards
    yield from _plan_shards("dropped", plan, dropped, 4 * job.shard_bytes)


def _write_result(job: CorpusJob, content: dict[str, Any]) -> None:
    temporary = Path(job.scratch) / uuid.uuid4().hex
    temporary.write_text(json.dumps(content))
    temporary.rename(Path(job.scratch) / PLAN)


def _describe_clash(plan: CorpusPlan, positions: NDArray[np.int64]) -> str:
    records = list(TextsReader(plan.files).read(plan.numbers[positions], plan.rows[positions]))
    first, second = (json.loads(note)["source"] for _, note in records)
    id_ = json.loads(records[0][0])["id"]
    return f"the id of a document must be unique, got {id_!r} with different texts in {first} and {second}"


def _plan_shards(name: str, plan: CorpusPlan, positions: NDArray[np.int64], most: int) -> Iterator[ShardPlan]:
    """Plans the files of the documents at `positions`."""
    if not len(positions):
        return
    shards = list(pack(plan.rows["bytes"][positions].tolist(), most))
    for number, shard in enumerate(shards):
        members = positions[shard.start : shard.stop]
        kept = plan.kept[members]
        originals = kept[kept != NOBODY]
        numbers = plan.numbers[members], plan.numbers[originals]
        # Only the files that this shard needs, because their names travel with it.
        used, places = np.unique(np.concatenate(numbers), return_inverse=True)
        yield ShardPlan(
            f"{name}-{number:05d}-of-{len(shards):05d}.jsonl.gz",
            len(shards),
            [plan.files[file] for file in used],
            places[: len(members)],
            plan.rows[members],
            kept,
            places[len(members) :],
            plan.rows[originals],
        )


class WriteFn(ThreadedFn):
    """Writes the files of the plan."""

    def __init__(self, job: CorpusJob) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def work(self, shard: ShardPlan) -> Iterable[Any]:
        """Writes one file."""
        records = TextsReader(shard.files).read(shard.numbers, shard.rows)
        lines = (line for line, _ in records) if shard.name.startswith("corpus") else _dropped_lines(shard, records)
        write_gzip(lines, Path(self.job.output) / shard.name, self.job.scratch)
        if shard.name.startswith("corpus"):
            report_unit(self.job.scratch, shard.name, shard.total, "writing shards")
        return ()


def _dropped_lines(shard: ShardPlan, records: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The dropped documents: id, source, reason, detail and text."""
    originals = TextsReader(shard.files).read(shard.kept_numbers, shard.kept_rows)
    for (line, note), row, kept in zip(records, shard.rows, shard.kept, strict=True):
        record, fields = json.loads(line), json.loads(note)
        if kept != NOBODY:
            original, original_note = next(originals)
            fields["detail"] = f"of {json.loads(original)['id']} in {json.loads(original_note)['source']}"
        reason = {"reason": REASONS[row["reason"]], "detail": fields["detail"]}
        yield make_line({"id": record["id"], "source": fields["source"], **reason, "text": record["text"]})
