"""The Beam steps of `ingest_corpus`: files -> chunks -> clean texts with an index -> plan -> shards.

Texts never travel through Beam: they lie in files of a scratch folder that all workers see, under names that nobody
uses twice, and what travels says where. A bundle that runs again leaves files that nothing points to.
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
from components.corpus.index import MOST_CHUNKS, MOST_FILES, Rows, Texts, TextsReader, make_line, write_gzip
from components.corpus.plan import NOBODY, Plan, count_parts, describe, make_plan, pack, shard_size
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Hashes, Signer, find_pairs

STEP = "ingest_corpus"
PLAN = "plan.json"
# The kinds of results: what the plan is made of, and what is grouped before.
REPORT, BAND = "report", "band"
_BUCKETS = 64
_EMPTY = "the corpus must hold at least one document, got"


@dataclasses.dataclass(frozen=True)
class Job:
    """What a corpus is made of and where.

    Attributes:
        source: of the documents.
        cleaning: what becomes of them.
        output: where shards go.
        scratch: where all else goes until the end; on the same file system.
        shard_bytes: of a shard of a small corpus.
        scale: how the work is spread.
    """

    source: TextSource | DocstringCorpus
    cleaning: Cleaning
    output: str
    scratch: str
    shard_bytes: int
    scale: Scale


class Unit(NamedTuple):
    """A file of the source and its number; the docstrings are one unit."""

    number: int
    file: str


class Order(NamedTuple):
    """A file to write, of `total`: rows of `ROW` of some documents, and of those they are duplicates of."""

    name: str
    total: int
    files: list[str]
    numbers: NDArray[np.int64]
    rows: Rows
    kept: NDArray[np.int64]
    kept_numbers: NDArray[np.int64]
    kept_rows: Rows


def build(units: Any, job: Job) -> None:
    """Applies all steps to the units of work."""
    read = spread(units | "Read" >> beam.ParDo(ReadFn(job)), "Spread chunks", job.scale)
    cleaned = read | "Clean" >> beam.ParDo(CleanFn(job))
    pairs = _take(cleaned, BAND) | "Same band" >> beam.GroupByKey() | "Pair" >> beam.FlatMap(_pair_bucket)
    aside = [beam.pvalue.AsList(each) for each in (_take(cleaned, REPORT), pairs)]
    orders = units.pipeline | "Once" >> beam.Impulse() | "Plan" >> beam.FlatMap(_plan, *aside, job)
    _ = spread(orders, "Spread orders", job.scale) | "Write" >> beam.ParDo(WriteFn(job))


def _take(results: Any, kind: str) -> Any:
    """The results of a kind. Not Beam's tagged outputs: DaskRunner of Beam 2.77 gives all of them to every taker."""
    return results | f"Take {kind}" >> beam.FlatMap(lambda item: [item[1]] if item[0] == kind else [])


def find_units(source: TextSource | DocstringCorpus) -> list[Unit]:
    """The units of work of a source.

    Raises:
        InputError: there are too many, or see `TextSource.files`.
    """
    files = source.files()
    if len(files) > MOST_FILES:
        raise InputError(f"the corpus must hold at most {MOST_FILES} files, got {len(files)}; join some of them")
    return [Unit(number, file) for number, file in enumerate(files)]


class Problem(NamedTuple):
    """What the user has to mend, in a unit: as an error it would be tried again and wrapped."""

    unit: int
    text: str


class ReadFn(beam.DoFn):
    """Unit -> chunks, or a problem.

    Its milliseconds are also those in which the steps that it is fused with work on the results.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._milliseconds = Metrics.counter(STEP, "ReadFn ms")

    def process(self, unit: Unit) -> Iterator[Any]:
        """Reads a file."""
        began = time.monotonic()
        try:
            for number, documents in enumerate(gather(self.job.source.documents(unit.file), CHUNK_CHARACTERS)):
                if number == MOST_CHUNKS:
                    rule = f"at most {MOST_CHUNKS} chunks of {CHUNK_CHARACTERS} characters"
                    raise InputError(f"the file {unit.file} must hold {rule}, got more; part it into several files")
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
    """Chunk -> `Texts`, and the bands of its documents by bucket; a problem stays one."""

    def __init__(self, job: Job) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def setup(self) -> None:
        """Prepares signatures once a worker."""
        super().setup()
        cleaning = self.job.cleaning
        wanted = cleaning.near_duplicates
        self._signer = Signer(cleaning.threshold, cleaning.permutations, cleaning.shingle) if wanted else None
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
            own = bands % np.uint64(_BUCKETS) == bucket
            yield BAND, (bucket, (bands[own], places[own]))

    def note(self, result: tuple[str, Any]) -> None:
        """Counts what became of the documents."""
        if isinstance(result[1], Texts):
            for reason, count in enumerate(np.bincount(result[1].rows["reason"], minlength=len(REASONS)).tolist()):
                self._counters[REASONS[reason]].inc(count)


def _pair_bucket(item: tuple[int, Iterable[tuple[Hashes, Hashes]]]) -> Iterator[Hashes]:
    parts = list(item[1])
    pairs = find_pairs(np.concatenate([bands for bands, _ in parts]), np.concatenate([places for _, places in parts]))
    if len(pairs):
        yield pairs


def _plan(_: bytes, reports: Sequence[Texts | Problem], pairs: Sequence[Hashes], job: Job) -> Iterator[Order]:
    """Decides about all documents; what the driver has to know goes into a file."""
    problems = [report for report in reports if isinstance(report, Problem)]
    texts = [report for report in reports if isinstance(report, Texts)]
    if problems or not texts:
        _leave(job, {"problem": min(problems).text if problems else f"{_EMPTY} only blank text"})
        return
    plan = make_plan(texts, pairs, exact=job.cleaning.exact_duplicates)
    clashes = plan.clashes()
    if len(clashes):
        _leave(job, {"problem": _describe_clash(plan, clashes[0])})
        return
    kept = np.flatnonzero(plan.rows["reason"] == 0)
    dropped = np.flatnonzero(plan.rows["reason"])
    total = int(plan.rows["bytes"][kept].sum())
    orders = list(_make_orders("corpus", plan, kept, shard_size(total, job.shard_bytes)))
    statistics = describe(plan, len(orders))
    if not len(kept):
        reasons = ", ".join(f"{count} {reason}" for reason, count in statistics["dropped"].items() if count)
        _leave(job, {"problem": f"{_EMPTY} none after cleaning: {reasons}"})
        return
    _leave(job, {"statistics": statistics, "cut_documents": count_parts(plan)})
    yield from orders
    yield from _make_orders("dropped", plan, dropped, 4 * job.shard_bytes)


def _leave(job: Job, content: dict[str, Any]) -> None:
    temporary = Path(job.scratch) / uuid.uuid4().hex
    temporary.write_text(json.dumps(content))
    temporary.rename(Path(job.scratch) / PLAN)


def _describe_clash(plan: Plan, positions: NDArray[np.int64]) -> str:
    found = list(TextsReader(plan.files).read(plan.numbers[positions], plan.rows[positions]))
    first, second = (json.loads(note)["source"] for _, note in found)
    id_ = json.loads(found[0][0])["id"]
    return f"the id of a document must be its own, got {id_!r} with different texts in {first} and {second}"


def _make_orders(name: str, plan: Plan, positions: NDArray[np.int64], most: int) -> Iterator[Order]:
    """The files that some of the documents go to."""
    if not len(positions):
        return
    shards = list(pack(plan.rows["bytes"][positions].tolist(), most))
    for number, shard in enumerate(shards):
        own = positions[shard.start : shard.stop]
        kept = plan.kept[own]
        twins = kept[kept != NOBODY]
        numbers = plan.numbers[own], plan.numbers[twins]
        # Only the files that this one needs: each order travels with their names.
        used, places = np.unique(np.concatenate(numbers), return_inverse=True)
        yield Order(
            f"{name}-{number:05d}-of-{len(shards):05d}.jsonl.gz",
            len(shards),
            [plan.files[file] for file in used],
            places[: len(own)],
            plan.rows[own],
            kept,
            places[len(own) :],
            plan.rows[twins],
        )


class WriteFn(ThreadedFn):
    """Writes the files that the plan orders."""

    def __init__(self, job: Job) -> None:
        super().__init__(STEP, job.scale.threads)
        self.job = job

    def work(self, order: Order) -> Iterable[Any]:
        """Writes one file."""
        found = TextsReader(order.files).read(order.numbers, order.rows)
        lines = (line for line, _ in found) if order.name.startswith("corpus") else _dropped_lines(order, found)
        write_gzip(lines, Path(self.job.output) / order.name, self.job.scratch)
        if order.name.startswith("corpus"):
            report_unit(self.job.scratch, order.name, order.total, "writing shards")
        return ()


def _dropped_lines(order: Order, found: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """What was dropped: id, source, reason, detail and text."""
    twins = TextsReader(order.files).read(order.kept_numbers, order.kept_rows)
    for (line, note), row, kept in zip(found, order.rows, order.kept, strict=True):
        record, known = json.loads(line), json.loads(note)
        if kept != NOBODY:
            twin, its = next(twins)
            known["detail"] = f"of {json.loads(twin)['id']} in {json.loads(its)['source']}"
        reason = {"reason": REASONS[row["reason"]], "detail": known["detail"]}
        yield make_line({"id": record["id"], "source": known["source"], **reason, "text": record["text"]})
