"""The Beam transforms of `ingest_corpus`: files -> chunks -> clean texts with an index -> plan -> shards.

Texts do not travel through Beam (decision 0010). They are stored in files with unique names, in a scratch folder that
all workers share, and Beam passes their index. A bundle that runs again leaves files that no index refers to.
"""

import dataclasses
import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics
from zstandard import ZstdCompressor, ZstdDecompressor

from components.beam.engine import Scale, begin, report_unit, spread
from components.beam.threaded_fn import ThreadedFn
from components.corpus.chunk_files import read_chunk, write_chunk
from components.corpus.chunks import CHUNK_CHARACTERS, Chunk, chunk_size, clean_chunk, gather
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import MOST_CHUNKS, MOST_FILES, PACKING, make_line, read_texts, write_gzip
from components.corpus.links import Links, tabulate_hashes, write_links
from components.corpus.originals import read_originals, write_originals
from components.corpus.partitions import Partition, write_partition
from components.corpus.plan import EXACT, NEAR, RowRange, load_plan, make_plan, shard_size
from components.corpus.shards import CUT_DOCUMENTS, write_cut_documents
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Signer
from keras_bert.core.folders import write_whole

STEP = "ingest_corpus"
PLAN = "plan.json"
CORPUS = "corpus"
_EMPTY = "the corpus must hold at least one document, got"


@dataclasses.dataclass(frozen=True)
class CorpusJob:
    """The settings that all transforms share.

    Attributes:
        scratch: the folder of all intermediate files; on the same file system.
        partitions: number of ranges of keys and of hashes that are worked on one by one; it never changes a result.
        chunk_characters: size of a chunk; it never changes a result.
    """

    source: TextSource | DocstringCorpus
    cleaning: Cleaning
    output: str
    scratch: str
    shard_bytes: int
    scale: Scale
    partitions: int = 1
    chunk_characters: int = CHUNK_CHARACTERS


class Unit(NamedTuple):
    """Consecutive files of the source that fill a chunk, and the number of the first; all docstrings are one unit."""

    number: int
    files: list[str]
    size: int


class ShardPlan(NamedTuple):
    """One of `total` files to write: the rows of its documents in the partitions of a plan, see `load_plan`."""

    name: str
    total: int
    plan: str
    spans: list[RowRange]

    @property
    def is_corpus(self) -> bool:
        """Whether it holds documents of the corpus, and not dropped ones."""
        return self.name.startswith(CORPUS)


class ShardGroup(NamedTuple):
    """Files that are written together, and the files of the originals of duplicates, see `write_originals`."""

    shards: list[ShardPlan]
    originals: Sequence[str] = ()


def build(units: Any, job: CorpusJob) -> None:
    """Applies all transforms to the units of work."""
    read = spread(units | "Read" >> beam.ParDo(ReadFn(job)), "Spread chunks", job.scale)
    chunks = beam.pvalue.AsList(read | "Clean" >> beam.ParDo(CleanFn(job)))
    numbers = begin(units.pipeline, "Partitions", list(range(job.partitions)), job.scale)
    joined = spread(numbers, "Spread partitions", job.scale) | "Join" >> beam.FlatMap(_join, chunks, job)
    once = begin(units.pipeline, "Once", [None], job.scale)
    groups = once | "CorpusPlan" >> beam.FlatMap(_plan, chunks, beam.pvalue.AsList(joined), job)
    plans = beam.pvalue.AsList(groups | "Plan file" >> beam.FlatMap(_find_plan))
    owners = begin(units.pipeline, "Owners", list(range(job.partitions)), job.scale)
    named = spread(owners, "Spread owners", job.scale) | "Originals" >> beam.FlatMap(_name_originals, plans, job)
    complete = spread(groups, "Spread shards", job.scale) | "Attach" >> beam.Map(
        lambda group, files: group._replace(originals=files), beam.pvalue.AsList(named)
    )
    _ = complete | "Write" >> beam.ParDo(WriteFn(job))


def find_units(source: TextSource | DocstringCorpus) -> list[Unit]:
    """The units of work of a source: small files share a chunk, because each partition opens the file of each chunk."""
    files = source.files()
    if len(files) > MOST_FILES:
        raise InputError(f"the corpus must hold at most {MOST_FILES} files, got {len(files)}; join some of them")
    sizes = list(map(source.size, files))
    most, units = chunk_size(sum(sizes)), list[Unit]()
    start = total = 0
    for end, size in enumerate(sizes, 1):
        total += size
        if total >= most or end == len(files):
            units.append(Unit(start, files[start:end], total))
            start, total = end, 0
    return units


class Problem(NamedTuple):
    """A user's error in a unit. It is passed on as a result, because Beam would retry and wrap an exception."""

    unit: int
    text: str


class CleanChunk(NamedTuple):
    """A chunk in a file, see `write_chunk`, and the number of its documents by reason."""

    file: str
    reasons: list[int]


class ReadFn(beam.DoFn):
    """Reads a unit into chunks, or a problem.

    Its time includes the time of the transforms that Beam fuses with it.
    """

    def __init__(self, job: CorpusJob) -> None:
        self.job = job
        self._milliseconds = Metrics.counter(STEP, "ReadFn ms")

    def process(self, unit: Unit) -> Iterator[Any]:
        """Reads the files of a unit."""
        began = time.monotonic()
        texts = itertools.chain.from_iterable(map(self.job.source.documents, unit.files))
        try:
            for number, documents in enumerate(gather(texts, self.job.chunk_characters)):
                if number == MOST_CHUNKS:
                    raise InputError(
                        f"the file {unit.files[-1]} must hold at most {MOST_CHUNKS} chunks of "
                        f"{self.job.chunk_characters} characters, got more; split it into several files"
                    )
                content: list[Document] | str = documents
                if not self.job.scale.alone:
                    content = str(Path(self.job.scratch) / f"{uuid.uuid4().hex}.chunk")
                    packed = ZstdCompressor(PACKING).compress(json.dumps(documents, ensure_ascii=False).encode())
                    Path(content).write_bytes(packed)
                yield Chunk(unit.number, number, content)
        except InputError as error:
            yield Problem(unit.number, str(error))
        self._milliseconds.inc(round(1000 * (time.monotonic() - began)))


class CleanFn(ThreadedFn):
    """Cleans a chunk into a file; passes problems on."""

    def __init__(self, job: CorpusJob) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def setup(self) -> None:
        super().setup()
        cleaning = self.job.cleaning
        self._signer = (
            Signer(cleaning.threshold, cleaning.permutations, cleaning.shingle) if cleaning.near_duplicates else None
        )
        self._counters = {reason: Metrics.counter(STEP, reason or "kept by rules") for reason in REASONS}

    def work(self, chunk: Chunk | Problem) -> Iterator[Any]:
        if isinstance(chunk, Problem):
            yield chunk
            return
        content = chunk.content
        if isinstance(content, str):
            records = json.loads(ZstdDecompressor().decompress(Path(content).read_bytes()))
            content = [Document(*fields) for fields in records]
        texts, bands, signed = clean_chunk(chunk, content, self.job.cleaning, self._signer)
        rows = texts.rows
        candidates = rows[rows["reason"] == 0] if self.job.cleaning.exact_duplicates else rows[:0]
        near = tabulate_hashes(bands, rows[signed])
        exact = tabulate_hashes(np.column_stack([candidates["high"], candidates["low"]]), candidates)
        file = write_chunk(texts, near, exact, self.job.partitions, self.job.scratch)
        yield CleanChunk(file, np.bincount(rows["reason"], minlength=len(REASONS)).tolist())

    def note(self, result: CleanChunk | Problem) -> None:
        if isinstance(result, CleanChunk):
            for reason, count in zip(REASONS, result.reasons, strict=True):
                self._counters[reason].inc(count)


def _join(number: int, chunks: Sequence[CleanChunk | Problem], job: CorpusJob) -> Iterator[Partition | Links]:
    """Sorts the documents of a partition, and links those with equal hashes in its range."""
    files = [chunk.file for chunk in chunks if isinstance(chunk, CleanChunk)]
    if not files:
        return
    texts, rows, near, exact = zip(*(read_chunk(file, number, job.partitions) for file in files), strict=True)
    if any(map(len, rows)):
        yield write_partition(number, texts, rows, job.scratch)
    for kind, tables in ((NEAR, near), (EXACT, exact)):
        links = write_links(kind, np.concatenate(tables), job.partitions, job.scratch)
        if links:
            yield links


def _plan(
    _: None, chunks: Sequence[CleanChunk | Problem], parts: Sequence[Partition | Links], job: CorpusJob
) -> Iterator[ShardGroup]:
    """Plans all shards; the driver reads statistics and problems from a file."""
    problems = [chunk for chunk in chunks if isinstance(chunk, Problem)]
    partitions = sorted(part for part in parts if isinstance(part, Partition))
    clashes = [partition for partition in partitions if partition.clash]
    result = Path(job.scratch) / PLAN
    if problems or not partitions or clashes:
        problem = min(problems).text if problems else f"{_EMPTY} only blank text"
        if clashes and not problems:
            records = list(read_texts(clashes[0].texts, clashes[0].load()[list(clashes[0].clash)]))
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
    write_cut_documents(Path(job.scratch) / CUT_DOCUMENTS, plan.count_parts())
    write_whole(result, {"statistics": statistics})
    dropped = list(plan.pack(4 * job.shard_bytes, kept=False))
    for name, files in ((CORPUS, shards), ("dropped", dropped)):
        total = len(files)
        plans = [
            ShardPlan(f"{name}-{number:05d}-of-{total:05d}.jsonl.gz", total, plan.file, spans)
            for number, spans in enumerate(files)
        ]
        # Dropped documents of a partition are written together, as each slice of their originals is opened once.
        owners = range(total) if name == CORPUS else [spans[0].partition for spans in files]
        for _, group in itertools.groupby(zip(owners, plans, strict=True), key=lambda pair: pair[0]):
            yield ShardGroup([shard for _, shard in group])


def _find_plan(group: ShardGroup) -> list[str]:
    """The plan of the first file of the corpus: once."""
    first = group.shards[0]
    return [first.plan] if first.name.startswith(f"{CORPUS}-00000-") else []


def _name_originals(number: int, plans: Sequence[str], job: CorpusJob) -> Iterator[str]:
    """The file of the originals of a partition, if it has any; there is one plan, or none if there is a problem."""
    for plan in plans:
        file = write_originals(number, plan, job.partitions, job.scratch)
        yield from [file] if file else []


class WriteFn(ThreadedFn):
    """Writes the files of the plan."""

    def __init__(self, job: CorpusJob) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def work(self, group: ShardGroup) -> Iterable[Any]:
        originals = lru_cache(maxsize=1)(lambda number: read_originals(group.originals, number, self.job.partitions))
        for shard in group.shards:
            lines = _corpus_lines(shard) if shard.is_corpus else _dropped_lines(shard, originals)
            write_gzip(lines, Path(self.job.output) / shard.name, self.job.scratch)
            if shard.is_corpus:
                report_unit(self.job.scratch, shard.name, shard.total, "writing shards")
        return ()


def _corpus_lines(shard: ShardPlan) -> Iterator[bytes]:
    partitions = load_plan(shard.plan)
    for span in shard.spans:
        rows = partitions[span.partition].load()[span.start : span.stop]
        kept = rows[rows["reason"] == 0]
        for line, _ in read_texts(partitions[span.partition].texts, kept):
            yield line


def _dropped_lines(shard: ShardPlan, originals: Callable[[int], dict[int, str]]) -> Iterator[bytes]:
    """The dropped documents: id, source, reason, detail and text; `originals` are the details of a partition."""
    partitions = load_plan(shard.plan)
    for span in shard.spans:
        rows = partitions[span.partition].load()[span.start : span.stop]
        positions = np.flatnonzero(rows["reason"])
        records = read_texts(partitions[span.partition].texts, rows[positions])
        details = originals(span.partition)
        for (line, note), position in zip(records, positions.tolist(), strict=True):
            record, fields = json.loads(line), json.loads(note)
            detail = details.get(span.start + position, fields["detail"])
            reason = {"reason": REASONS[rows["reason"][position]], "detail": detail}
            yield make_line({"id": record["id"], "source": fields["source"], **reason, "text": record["text"]})
