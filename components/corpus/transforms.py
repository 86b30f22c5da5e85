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

from components.beam.engine import Scale, begin, report_unit, spread
from components.beam.threaded_fn import ThreadedFn
from components.corpus.chunks import CHUNK_CHARACTERS, Chunk, clean_chunk, gather
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import MOST_CHUNKS, MOST_FILES, IndexedTexts, Ints, TextsReader, make_line, write_gzip
from components.corpus.links import HashedDocuments, Links, as_documents, write_links
from components.corpus.partitions import NOBODY, Partition, split_by_partition, split_number, write_partition
from components.corpus.plan import EXACT, NEAR, RowRange, load_plan, make_plan, shard_size
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Hashes, Signer
from keras_bert.core.folders import write_whole

STEP = "ingest_corpus"
PLAN = "plan.json"
# The kinds of results of `CleanFn`, besides the hashes of near and exact duplicates.
ROWS, PROBLEM = "rows", "problem"
_EMPTY = "the corpus must hold at least one document, got"


@dataclasses.dataclass(frozen=True)
class CorpusJob:
    """The settings that all transforms share.

    Attributes:
        scratch: the folder of all intermediate files; on the same file system.
        shard_bytes: size of a shard of a small corpus in bytes.
        partitions: number of ranges of keys and of hashes that are worked on one by one; it never changes a result.
    """

    source: TextSource | DocstringCorpus
    cleaning: Cleaning
    output: str
    scratch: str
    shard_bytes: int
    scale: Scale
    partitions: int = 1


class Unit(NamedTuple):
    """A file of the source and its number; all docstrings are one unit."""

    number: int
    file: str


class ShardPlan(NamedTuple):
    """One of `total` files to write: the rows of its documents in the partitions of a plan, see `load_plan`."""

    name: str
    total: int
    plan: str
    spans: list[RowRange]


def build(units: Any, job: CorpusJob) -> None:
    """Applies all transforms to the units of work."""
    read = spread(units | "Read" >> beam.ParDo(ReadFn(job)), "Spread chunks", job.scale)
    groups = read | "Clean" >> beam.ParDo(CleanFn(job)) | "Same partition" >> beam.GroupByKey()
    parts = beam.pvalue.AsList(groups | "Join" >> beam.FlatMap(_join, job))
    once = begin(units.pipeline, "Once", [None], job.scale)
    shards = once | "CorpusPlan" >> beam.FlatMap(_plan, parts, job)
    _ = spread(shards, "Spread shards", job.scale) | "Write" >> beam.ParDo(WriteFn(job))


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
                content: list[Document] | str = documents
                if not self.job.scale.alone:
                    content = str(Path(self.job.scratch) / f"{uuid.uuid4().hex}.chunk")
                    Path(content).write_text(json.dumps(documents, ensure_ascii=False), encoding="utf-8")
                yield Chunk(unit.number, number, content)
        except InputError as error:
            yield Problem(unit.number, str(error))
        self._milliseconds.inc(round(1000 * (time.monotonic() - began)))


class CleanFn(ThreadedFn):
    """Cleans a chunk into index rows and hashes by partition; passes problems on."""

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
            yield (PROBLEM, 0), chunk
            return
        content = chunk.content
        if isinstance(content, str):
            content = [Document(*fields) for fields in json.loads(Path(content).read_text(encoding="utf-8"))]
        texts, bands, signed = clean_chunk(chunk, content, self.job.cleaning, self._signer, self.job.scratch)
        rows = texts.rows
        for number, positions in split_by_partition(rows["key"], self.job.partitions):
            yield (ROWS, number), IndexedTexts(texts.file, rows[positions])
        yield from self._split(NEAR, bands[:, None], as_documents(rows[signed]))
        if self.job.cleaning.exact_duplicates:
            candidates = rows[rows["reason"] == 0]
            hashes = np.stack([candidates["high"], candidates["low"]], axis=1)
            yield from self._split(EXACT, hashes, as_documents(candidates))

    def _split(self, kind: str, hashes: Hashes, documents: NDArray[np.void]) -> Iterator[Any]:
        for number, positions in split_by_partition(hashes[:, 0], self.job.partitions):
            yield (kind, number), HashedDocuments(hashes[positions], documents[positions])

    def note(self, result: tuple[tuple[str, int], Any]) -> None:
        """Counts the documents by the reason for which they were dropped."""
        if isinstance(result[1], IndexedTexts):
            for reason, count in enumerate(np.bincount(result[1].rows["reason"], minlength=len(REASONS)).tolist()):
                self._counters[REASONS[reason]].inc(count)


def _join(item: tuple[tuple[str, int], Iterable[Any]], job: CorpusJob) -> Iterator[Partition | Links | Problem]:
    """Sorts the rows of a partition, or links the documents with equal hashes."""
    (kind, number), parts = item
    if kind == PROBLEM:
        yield from parts
    elif kind == ROWS:
        yield write_partition(number, parts, job.scratch)
    else:
        links = write_links(kind, parts, job.partitions, job.scratch)
        yield from [links] if links else []


def _plan(_: None, parts: Sequence[Partition | Links | Problem], job: CorpusJob) -> Iterator[ShardPlan]:
    """Plans all shards; the driver reads statistics and problems from a file."""
    problems = [part for part in parts if isinstance(part, Problem)]
    partitions = sorted(part for part in parts if isinstance(part, Partition))
    clashes = [partition for partition in partitions if partition.clash]
    result = Path(job.scratch) / PLAN
    if problems or not partitions or clashes:
        problem = min(problems).text if problems else f"{_EMPTY} only blank text"
        if clashes and not problems:
            rows = clashes[0].load()[list(clashes[0].clash)]
            records = list(TextsReader(clashes[0].text_files()).read(rows["file"], rows))
            sources = " and ".join(json.loads(note)["source"] for _, note in records)
            id_ = json.loads(records[0][0])["id"]
            problem = f"the id of a document must be unique, got {id_!r} with different texts in {sources}"
        write_whole(result, {"problem": problem})
        return
    plan = make_plan(partitions, [part for part in parts if isinstance(part, Links)], job.scratch)
    shards = list(plan.pack(shard_size(plan.tally.kept_bytes, job.shard_bytes), kept=True))
    statistics = plan.tally.describe(len(shards))
    if not shards:
        reasons = ", ".join(f"{count} {reason}" for reason, count in statistics["dropped"].items() if count)
        write_whole(result, {"problem": f"{_EMPTY} none after cleaning: {reasons}"})
        return
    write_whole(result, {"statistics": statistics, "cut_documents": plan.tally.count_parts()})
    for name, files in (("corpus", shards), ("dropped", list(plan.pack(4 * job.shard_bytes, kept=False)))):
        for number, spans in enumerate(files):
            file = f"{name}-{number:05d}-of-{len(files):05d}.jsonl.gz"
            yield ShardPlan(file, len(files), plan.file, spans)


class WriteFn(ThreadedFn):
    """Writes the files of the plan."""

    def __init__(self, job: CorpusJob) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def work(self, shard: ShardPlan) -> Iterable[Any]:
        """Writes one file."""
        is_corpus = shard.name.startswith("corpus")
        lines = _corpus_lines(shard) if is_corpus else _dropped_lines(shard)
        write_gzip(lines, Path(self.job.output) / shard.name, self.job.scratch)
        if is_corpus:
            report_unit(self.job.scratch, shard.name, shard.total, "writing shards")
        return ()


def _corpus_lines(shard: ShardPlan) -> Iterator[bytes]:
    partitions = load_plan(shard.plan)
    for span in shard.spans:
        rows = partitions[span.partition].load()[span.start : span.stop]
        kept = rows[rows["reason"] == 0]
        for line, _ in TextsReader(partitions[span.partition].text_files()).read(kept["file"], kept):
            yield line


def _dropped_lines(shard: ShardPlan) -> Iterator[bytes]:
    """The dropped documents: id, source, reason, detail and text."""
    partitions = load_plan(shard.plan)
    for span in shard.spans:
        rows = partitions[span.partition].load()[span.start : span.stop]
        dropped = rows[rows["reason"] != 0]
        originals = iter(_read_originals(partitions, dropped["kept"][dropped["kept"] != NOBODY]))
        records = TextsReader(partitions[span.partition].text_files()).read(dropped["file"], dropped)
        for (line, note), row in zip(records, dropped, strict=True):
            record, fields = json.loads(line), json.loads(note)
            if row["kept"] != NOBODY:
                original, original_note = next(originals)
                fields["detail"] = f"of {json.loads(original)['id']} in {json.loads(original_note)['source']}"
            reason = {"reason": REASONS[row["reason"]], "detail": fields["detail"]}
            yield make_line({"id": record["id"], "source": fields["source"], **reason, "text": record["text"]})


def _read_originals(partitions: dict[int, Partition], numbers: Ints) -> list[tuple[bytes, bytes]]:
    """(line, note) of every document, by its number."""
    records: list[tuple[bytes, bytes]] = [(b"", b"")] * len(numbers)
    owners, positions = split_number(numbers)
    for owner in np.unique(owners).tolist():
        members = np.flatnonzero(owners == owner)
        rows = partitions[owner].load()[positions[members]]
        texts = TextsReader(partitions[owner].text_files()).read(rows["file"], rows)
        for member, text in zip(members.tolist(), texts, strict=True):
            records[member] = text
    return records
