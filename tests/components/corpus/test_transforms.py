"""The steps one by one: what each takes, gives and leaves in its folders."""

import dataclasses
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from zstandard import ZstdCompressor, ZstdDecompressor

from components.beam.engine import BeamOptions, Scale, run_over
from components.corpus.chunk_files import read_chunk
from components.corpus.chunks import Chunk
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import ROW, TextsIndexer, as_place, hash_text, read_texts
from components.corpus.originals import write_originals
from components.corpus.partitions import NOBODY, Partition, as_number, partition_of, write_partition
from components.corpus.plan import CorpusPlan, CorpusTally, RowRange, find_requests
from components.corpus.transforms import (
    PLAN,
    CleanFn,
    CorpusJob,
    Problem,
    ReadFn,
    ShardGroup,
    ShardPlan,
    Unit,
    WriteFn,
    _join,
    build,
    find_units,
)
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Signer

ALONE, SPREAD = Scale(processes=1, threads=1), Scale(processes=0, threads=1)


@pytest.fixture
def folder(tmp_path):
    for name in ("source", "output", "scratch"):
        (tmp_path / name).mkdir()
    return tmp_path


def job_of(folder, scale=ALONE, partitions=1, characters=1_000_000, **cleaning):
    source, folders = TextSource(str(folder / "source")), (str(folder / "output"), str(folder / "scratch"))
    return CorpusJob(source, Cleaning(**cleaning), *folders, 1000, scale, partitions, characters)


def write(folder, name, content):
    file = folder / "source" / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


def do(step, *elements):
    """What a step gives in this thread."""
    step.setup()
    step.start_bundle()
    return [result for element in elements for result in step.process(element)]


def as_documents(*texts):
    return [Document(f"a.txt#{n}", None, text) for n, text in enumerate(texts)]


def test_units_are_the_files_in_their_order_or_all_docstrings_at_once(folder, monkeypatch):
    files = [write(folder, name, "xyz") for name in ("b.txt", "a.txt", "c.txt", "ä.jsonl")]
    source = TextSource(str(folder / "source"))
    assert find_units(source) == [(0, [files[1], files[0], *files[2:]], 12)]
    monkeypatch.setattr("components.corpus.chunks.CHUNK_CHARACTERS", 4)
    assert find_units(source) == [(0, [files[1], files[0]], 6), (2, files[2:], 6)]
    assert find_units(DocstringCorpus()) == [(0, ["docstrings"], 0)]


def unpack(file):
    return json.loads(ZstdDecompressor().decompress(Path(file).read_bytes()))


@pytest.mark.parametrize("scale", [ALONE, SPREAD])
def test_a_file_is_read_into_chunks_that_stay_here_or_lie_in_files(folder, scale):
    file = write(folder, "a.txt", "Größe.\n\nab\n\ncde\n\nf")
    chunks = list(ReadFn(job_of(folder, scale, characters=5)).process(Unit(7, [file], 0)))
    assert [(chunk.unit, chunk.number) for chunk in chunks] == [(7, 0), (7, 1), (7, 2)]
    kept = [chunk.content if scale.alone else unpack(chunk.content) for chunk in chunks]
    documents = [document if scale.alone else list(document) for document in as_documents("Größe.", "ab", "cde", "f")]
    assert kept == [documents[:1], documents[1:3], documents[3:]]
    assert len(list((folder / "scratch").iterdir())) == (0 if scale.alone else 3)


def test_refusal_comes_behind_readable_documents(folder):
    file = write(folder, "a.txt", b"One.\n\nTwo.\n\n\xff")
    chunks = list(ReadFn(job_of(folder, characters=1)).process(Unit(3, [file], 0)))
    assert [type(chunk) for chunk in chunks] == [Chunk, Chunk, Problem]
    assert chunks[-1] == (3, f"{file} must be UTF-8, got byte 0xff at offset 12")
    assert list(ReadFn(job_of(folder)).process(Unit(0, [str(folder / "no.txt")], 0))) == [
        (0, f"the file {folder / 'no.txt'} must exist, found nothing there")
    ]


def test_more_files_or_chunks_than_a_place_can_number(folder, monkeypatch):
    monkeypatch.setattr("components.corpus.transforms.MOST_FILES", 2)
    monkeypatch.setattr("components.corpus.transforms.MOST_CHUNKS", 2)
    file = write(folder, "a.txt", "a\n\nb\n\nc")
    chunks = list(ReadFn(job_of(folder, characters=1)).process(Unit(0, [file], 0)))
    assert [type(chunk) for chunk in chunks] == [Chunk, Chunk, Problem]
    rule = "must hold at most 2 chunks of 1 characters, got more; split it into several files"
    assert chunks[-1].text == f"the file {file} {rule}"
    write(folder, "b.txt", "d")
    assert len(find_units(TextSource(str(folder / "source")))) == 1
    write(folder, "c.txt", "e")
    with pytest.raises(InputError, match=r"^the corpus must hold at most 2 files, got 3; join some of them$"):
        find_units(TextSource(str(folder / "source")))


def test_a_problem_passes_the_cleaning(folder):
    problem = Problem(3, "a.txt must be UTF-8")
    assert do(CleanFn(job_of(folder)), problem) == [problem]


def read_all(chunk, partitions):
    return [read_chunk(chunk.file, number, partitions) for number in range(partitions)]


@pytest.mark.parametrize("partitions", [1, 5])
def test_a_partition_reads_the_rows_and_hashes_of_its_range(folder, partitions):
    texts = ["One text of some words.", " ", "And another text, which is not like it."]
    (chunk,) = do(CleanFn(job_of(folder, ALONE, partitions, permutations=64)), Chunk(2, 1, as_documents(*texts)))
    slices = read_all(chunk, partitions)
    for number, part in enumerate(slices):
        for hashes in (part.rows["key"], part.near[:, 0], part.exact[:, 0]):
            assert (partition_of(hashes, partitions) == number).all()
        assert len(part.texts) == part.rows["line"].sum() + part.rows["note"].sum()
    rows = np.concatenate([part.rows for part in slices])
    assert rows.dtype == ROW
    assert rows["key"].tolist() == sorted(rows["key"].tolist())
    assert {REASONS[reason] for reason in rows["reason"]} == {"", "too short"}
    assert {reason: count for reason, count in zip(REASONS, chunk.reasons, strict=True) if count} == {
        "": 2,
        "too short": 1,
    }
    signer, keys = Signer(0.8, 64, 5), {row["place"]: row["key"] for row in rows}
    places = [as_place(2, 1, row) for row in (0, 2)]
    near = [
        [band, keys[place], place]
        for place, row in zip(places, (0, 2), strict=True)
        for band in signer.sign(texts[row]).tolist()
    ]
    assert sorted(np.concatenate([part.near for part in slices]).tolist()) == sorted(near)
    exact = [[row["high"], row["low"], row["key"], row["place"]] for row in rows if not row["reason"]]
    assert sorted(np.concatenate([part.exact for part in slices]).tolist()) == sorted(exact)


def test_a_chunk_in_a_file_is_cleaned_as_one_at_hand(folder):
    documents = as_documents("Größe.\x00 Two.", "x")
    packed = ZstdCompressor().compress(json.dumps(documents, ensure_ascii=False).encode())
    (folder / "scratch" / "a.chunk").write_bytes(packed)
    job = job_of(folder, near_duplicates=False, exact_duplicates=False)
    first, second = do(CleanFn(job), Chunk(0, 0, documents), Chunk(0, 0, str(folder / "scratch" / "a.chunk")))
    assert first.file != second.file
    assert Path(first.file).read_bytes() == Path(second.file).read_bytes()
    (part,) = read_all(first, 1)
    assert sorted(part.rows["sentences"].tolist()) == [1, 2]
    assert (part.near.shape, part.exact.shape) == ((0, 3), (0, 4)), "without duplicates there are no hashes"


def test_nothing_but_what_is_dropped_has_no_bands(folder):
    (chunk,) = do(CleanFn(job_of(folder)), Chunk(0, 0, as_documents(" ", "\n")))
    (part,) = read_all(chunk, 1)
    assert (len(part.rows), len(part.near), len(part.exact)) == (2, 0, 0)


def test_a_partition_holds_the_texts_of_all_chunks_in_the_order_of_the_corpus(folder):
    job = job_of(folder, ALONE, 3)
    texts = [f"Text {number} of some, {number * 7} or more." for number in range(40)]
    groups = [Chunk(0, number, as_documents(*texts[number::4])) for number in range(4)]
    chunks = [*do(CleanFn(job), *groups), Problem(0, "of a file")]
    partitions = [part for number in range(3) for part in _join(number, chunks, job) if isinstance(part, Partition)]
    lines = [line for part in partitions for line, _ in read_texts(part.texts, part.load())]
    assert [json.loads(line)["text"] for line in lines] == sorted(texts, key=lambda text: hash_text(text)[:8])
    for part in partitions:
        places = part.load()["frame"] * 10**6 + part.load()["offset"]
        assert np.diff(places).min() > 0, "a shard is read from the beginning to the end"


def partition_of_texts(folder, number, texts):
    """Documents in the order of their names: one that a rule dropped, and one that is a duplicate."""
    indexer = TextsIndexer()
    for text in texts:
        reason = REASONS.index({"twin": "near duplicate", "short": "too short"}.get(text, ""))
        note = {"source": f"{text}.txt#0", "detail": "5 words" if text == "short" else ""}
        digest = hash_text(text)
        indexer.add(f"ä/{text}", text, (digest, digest), note, [], place=0, reason=reason, first=True)
    lines, rows = indexer.finish()
    return write_partition(number, [b"".join(lines)], [rows], str(folder / "scratch"))


def make_order(folder, name):
    """A dropped and a kept document, and one that is a duplicate of a document in another partition and file."""
    scratch = str(folder / "scratch")
    names = (["twin", "short", "stays"], ["kept"])
    partitions = [partition_of_texts(folder, number, texts) for number, texts in enumerate(names)]
    rows = np.load(partitions[0].rows)
    rows["kept"][rows["reason"] == REASONS.index("near duplicate")] = as_number(1, 0)
    np.save(partitions[0].rows, rows)
    plan = CorpusPlan(partitions, CorpusTally(), f"{scratch}/a.plan")
    twin = np.flatnonzero(rows["kept"] != NOBODY)
    requests = find_requests(plan.file)
    requests.append(np.array([1]), np.stack([rows["kept"][twin], as_number(0, twin)], axis=1))
    requests.flush()
    originals = [write_originals(number, plan.file, 2, scratch) for number in range(2)]
    assert originals[0] is None
    return ShardGroup([ShardPlan(name, 3, plan.file, [RowRange(0, 0, 3)])], originals[1:])


def test_a_shard_holds_the_lines_of_the_corpus_and_leaves_a_mark(folder):
    name = "corpus-00000-of-00003.jsonl.gz"
    assert do(WriteFn(job_of(folder, partitions=2)), make_order(folder, name)) == []
    lines = gzip.decompress((folder / "output" / name).read_bytes()).decode()
    assert lines == '{"id":"ä/stays","text":"stays","sentences":[]}\n'
    assert (folder / "scratch" / f"{name}.done").exists()


def test_dropped_documents_have_reason_and_twin(folder):
    name = "dropped-00000-of-00003.jsonl.gz"
    do(WriteFn(job_of(folder, partitions=2)), make_order(folder, name))
    records = gzip.decompress((folder / "output" / name).read_bytes()).decode().splitlines()
    assert sorted(map(json.loads, records), key=lambda record: record["id"], reverse=True) == [
        {
            "id": "ä/twin",
            "source": "twin.txt#0",
            "reason": "near duplicate",
            "detail": "of ä/kept in kept.txt#0",
            "text": "twin",
        },
        {"id": "ä/short", "source": "short.txt#0", "reason": "too short", "detail": "5 words", "text": "short"},
    ]
    assert not list((folder / "scratch").glob("*.done")), "progress counts shards of the corpus only"


def run_all(folder, scale):
    job = job_of(folder, scale)
    run_over(find_units(job.source), lambda work: build(work, job), BeamOptions(workers=1))
    return json.loads((folder / "scratch" / PLAN).read_text())


def test_of_several_problems_the_first_file_is_told_and_nothing_is_written(folder):
    write(folder, "a.txt", "A file that can be read.")
    second, _ = write(folder, "b.txt", b"\xfe"), write(folder, "c.txt", b"\xff")
    assert run_all(folder, SPREAD) == {"problem": f"{second} must be UTF-8, got byte 0xfe at offset 0"}
    assert list((folder / "output").iterdir()) == []


def test_nothing_but_blanks_is_a_problem(folder):
    write(folder, "a.txt", " \n\n")
    assert run_all(folder, ALONE) == {"problem": "the corpus must hold at least one document, got only blank text"}


def test_originals_are_read_in_one_pass_over_each_partition(folder, monkeypatch):
    texts = [f"Document {number} says {number * 7919} and ends so." for number in range(120)]
    for file in range(3):
        write(folder, f"{file}.txt", "\n\n".join(texts))
    reads = Counter[str]()

    def count(file, rows):
        reads[file] += 1
        return read_texts(file, rows)

    monkeypatch.setattr("components.corpus.originals.read_texts", count)
    job = dataclasses.replace(job_of(folder, partitions=4, near_duplicates=False), shard_bytes=100)
    run_over(find_units(job.source), lambda work: build(work, job), BeamOptions(workers=1))
    dropped = list((folder / "output").glob("dropped-*"))
    assert len(dropped) > 8
    assert list(reads.values()) == [1] * 4
    lines = [line for file in dropped for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
    records = list(map(json.loads, lines))
    assert len(records) == 240
    # Without ids in the source, the id is the hash of the text: that of the original is the duplicate's.
    assert {record["detail"] for record in records} == {
        f"of {hash_text(text).hex()} in 0.txt#{number}" for number, text in enumerate(texts)
    }


def test_the_number_of_partitions_changes_no_byte(folder):
    texts = [f"Document {number % 60} says {'again ' * (number % 7)}and ends." for number in range(200)]
    for file in range(3):
        write(folder, f"{file}.txt", "\n\n".join(texts[file * 50 : file * 50 + 100]))
    outcomes = []
    for partitions in (1, 2, 16):
        job = dataclasses.replace(job_of(folder), partitions=partitions, output=str(folder / str(partitions)))
        Path(job.output).mkdir()
        run_over(find_units(job.source), lambda work, job=job: build(work, job), BeamOptions(workers=1))
        result = (folder / "scratch" / PLAN).read_text()
        outcomes.append((result, {file.name: file.read_bytes() for file in Path(job.output).iterdir()}))
        for file in (folder / "scratch").iterdir():
            file.unlink()
    assert len(outcomes[0][1]) > 3
    assert all(outcome == outcomes[0] for outcome in outcomes)
