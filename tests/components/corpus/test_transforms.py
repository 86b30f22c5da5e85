"""The steps one by one: what each takes, gives and leaves in its folders."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.beam.engine import BeamOptions, Scale, run_over
from components.corpus.chunks import Chunk
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import TextsWriter, as_place, hash_text
from components.corpus.partitions import as_number, partition_of, write_partition
from components.corpus.plan import EXACT, NEAR, CorpusPlan, CorpusTally, RowRange
from components.corpus.transforms import (
    PLAN,
    PROBLEM,
    ROWS,
    CleanFn,
    CorpusJob,
    Problem,
    ReadFn,
    ShardPlan,
    Unit,
    WriteFn,
    build,
    find_units,
)
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.text import Document, TextSource
from components.text.near_duplicates import Signer

ALONE, SPREAD = Scale(processes=1, threads=1), Scale(processes=0, threads=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("source", "output", "scratch"):
        (tmp_path / name).mkdir()
    return tmp_path


def job_of(folder: Path, scale: Scale = ALONE, **cleaning: Any) -> CorpusJob:
    source = TextSource(str(folder / "source"))
    return CorpusJob(source, Cleaning(**cleaning), str(folder / "output"), str(folder / "scratch"), 1000, scale)


def write(folder: Path, name: str, content: str | bytes) -> str:
    file = folder / "source" / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


def do(step: Any, *elements: Any) -> list[Any]:
    """What a step gives in this thread."""
    step.setup()
    step.start_bundle()
    return [result for element in elements for result in step.process(element)]


def as_documents(*texts: str) -> list[Document]:
    return [Document(f"a.txt#{n}", None, text) for n, text in enumerate(texts)]


def test_units_are_the_files_in_their_order_or_all_docstrings_at_once(folder: Path) -> None:
    files = [write(folder, name, "x") for name in ("b.txt", "a.txt", "ä.jsonl")]
    assert find_units(TextSource(str(folder / "source"))) == [(0, files[1]), (1, files[0]), (2, files[2])]
    assert find_units(DocstringCorpus()) == [(0, "docstrings")]


@pytest.mark.parametrize("scale", [ALONE, SPREAD])
def test_a_file_is_read_into_chunks_that_stay_here_or_lie_in_files(
    folder: Path, scale: Scale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.corpus.transforms.CHUNK_CHARACTERS", 5)
    file = write(folder, "a.txt", "Größe.\n\nab\n\ncde\n\nf")
    chunks = list(ReadFn(job_of(folder, scale)).process(Unit(7, file)))
    assert [(chunk.unit, chunk.number) for chunk in chunks] == [(7, 0), (7, 1), (7, 2)]
    kept = [chunk.content if scale.alone else json.loads(Path(chunk.content).read_text("utf-8")) for chunk in chunks]
    documents = [document if scale.alone else list(document) for document in as_documents("Größe.", "ab", "cde", "f")]
    assert kept == [documents[:1], documents[1:3], documents[3:]]
    assert len(list((folder / "scratch").iterdir())) == (0 if scale.alone else 3)


def test_refusal_comes_behind_readable_documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.corpus.transforms.CHUNK_CHARACTERS", 1)
    file = write(folder, "a.txt", b"One.\n\nTwo.\n\n\xff")
    chunks = list(ReadFn(job_of(folder)).process(Unit(3, file)))
    assert [type(chunk) for chunk in chunks] == [Chunk, Chunk, Problem]
    assert chunks[-1] == (3, f"{file} must be UTF-8, got byte 0xff at offset 12")
    assert list(ReadFn(job_of(folder)).process(Unit(0, str(folder / "no.txt")))) == [
        (0, f"the file {folder / 'no.txt'} must exist, found nothing there")
    ]


def test_more_files_or_chunks_than_a_place_can_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.corpus.transforms.MOST_FILES", 2)
    monkeypatch.setattr("components.corpus.transforms.MOST_CHUNKS", 2)
    monkeypatch.setattr("components.corpus.transforms.CHUNK_CHARACTERS", 1)
    file = write(folder, "a.txt", "a\n\nb\n\nc")
    chunks = list(ReadFn(job_of(folder)).process(Unit(0, file)))
    assert [type(chunk) for chunk in chunks] == [Chunk, Chunk, Problem]
    rule = "must hold at most 2 chunks of 1 characters, got more; split it into several files"
    assert chunks[-1].text == f"the file {file} {rule}"
    write(folder, "b.txt", "d")
    assert len(find_units(TextSource(str(folder / "source")))) == 2
    write(folder, "c.txt", "e")
    with pytest.raises(InputError, match=r"^the corpus must hold at most 2 files, got 3; join some of them$"):
        find_units(TextSource(str(folder / "source")))


def test_a_problem_passes_the_cleaning(folder: Path) -> None:
    problem = Problem(3, "a.txt must be UTF-8")
    assert do(CleanFn(job_of(folder)), problem) == [((PROBLEM, 0), problem)]


@pytest.mark.parametrize("partitions", [1, 5])
def test_rows_and_hashes_go_to_the_partition_of_their_key_or_hash(folder: Path, partitions: int) -> None:
    job = dataclasses.replace(job_of(folder, permutations=64), partitions=partitions)
    texts = ["One text of some words.", " ", "And another text, which is not like it."]
    results = do(CleanFn(job), Chunk(2, 1, as_documents(*texts)))
    rows = np.concatenate([part.rows for (kind, _), part in results if kind == ROWS])
    assert {REASONS[row["reason"]] for row in rows} == {"", "too short"}
    signer = Signer(0.8, 64, 5)
    hashes = {
        NEAR: [(row, [band]) for row in (0, 2) for band in signer.sign(texts[row]).tolist()],
        EXACT: [(row["place"] - as_place(2, 1, 0), [row["high"], row["low"]]) for row in rows if not row["reason"]],
    }
    for (kind, number), part in results:
        column = part.rows["key"] if kind == ROWS else part.hashes[:, 0]
        assert (partition_of(column, partitions) == number).all()
    for kind, expected in hashes.items():
        parts = [part for (result, _), part in results if result == kind]
        items = [
            (int(document["place"]) - as_place(2, 1, 0), hashes.tolist())
            for part in parts
            for hashes, document in zip(*part, strict=True)
        ]
        assert sorted(items) == sorted(expected)


def test_a_chunk_in_a_file_is_cleaned_as_one_at_hand(folder: Path) -> None:
    documents = as_documents("Größe.\x00 Two.", "x")
    (folder / "scratch" / "a.chunk").write_text(json.dumps(documents, ensure_ascii=False), encoding="utf-8")
    job = job_of(folder, near_duplicates=False, exact_duplicates=False)
    chunks = do(CleanFn(job), Chunk(0, 0, documents), Chunk(0, 0, str(folder / "scratch" / "a.chunk")))
    assert [kind for (kind, _), _ in chunks] == [ROWS, ROWS], "and without near duplicates there are no bands"
    (_, first), (_, second) = chunks
    assert (first.rows == second.rows).all()
    assert Path(first.file).read_bytes() == Path(second.file).read_bytes()
    assert first.rows["sentences"].tolist() == [2, 1]


def test_nothing_but_what_is_dropped_has_no_bands(folder: Path) -> None:
    assert [key for key, _ in do(CleanFn(job_of(folder)), Chunk(0, 0, as_documents(" ", "\n")))] == [(ROWS, 0)]


def make_order(folder: Path, name: str) -> ShardPlan:
    """A dropped and a kept document, and one that is a duplicate of a document in another partition and file."""
    scratch = str(folder / "scratch")
    partitions = []
    for number, texts in enumerate((["twin", "short", "stays"], ["kept"])):
        writer = TextsWriter(scratch)
        for text in texts:
            reason = REASONS.index({"twin": "near duplicate", "short": "too short"}.get(text, ""))
            note = {"source": f"{text}.txt#0", "detail": "5 words" if text == "short" else ""}
            digest = hash_text(text)
            writer.add(f"ä/{text}", text, (digest, digest), note, [], place=0, reason=reason, first=True)
        partitions.append(write_partition(number, [writer.close()], scratch))
    rows = np.load(partitions[0].rows)
    rows["kept"][rows["reason"] == REASONS.index("near duplicate")] = as_number(1, 0)
    np.save(partitions[0].rows, rows)
    plan = CorpusPlan(partitions, CorpusTally(), scratch)
    return ShardPlan(name, 3, plan.file, [RowRange(0, 0, 3)])


def test_a_shard_holds_the_lines_of_the_corpus_and_leaves_a_mark(folder: Path) -> None:
    name = "corpus-00000-of-00003.jsonl.gz"
    assert do(WriteFn(job_of(folder)), make_order(folder, name)) == []
    lines = gzip.decompress((folder / "output" / name).read_bytes()).decode()
    assert lines == '{"id":"ä/stays","text":"stays","sentences":[]}\n'
    assert (folder / "scratch" / f"{name}.done").exists()


def test_dropped_documents_have_reason_and_twin(folder: Path) -> None:
    name = "dropped-00000-of-00003.jsonl.gz"
    do(WriteFn(job_of(folder)), make_order(folder, name))
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


def run_all(folder: Path, scale: Scale) -> dict[str, Any]:
    job = job_of(folder, scale)
    run_over(find_units(job.source), lambda work: build(work, job), BeamOptions(workers=1))
    return json.loads((folder / "scratch" / PLAN).read_text())


def test_of_several_problems_the_first_file_is_told_and_nothing_is_written(folder: Path) -> None:
    write(folder, "a.txt", "A file that can be read.")
    second, _ = write(folder, "b.txt", b"\xfe"), write(folder, "c.txt", b"\xff")
    assert run_all(folder, SPREAD) == {"problem": f"{second} must be UTF-8, got byte 0xfe at offset 0"}
    assert list((folder / "output").iterdir()) == []


def test_nothing_but_blanks_is_a_problem(folder: Path) -> None:
    write(folder, "a.txt", " \n\n")
    assert run_all(folder, ALONE) == {"problem": "the corpus must hold at least one document, got only blank text"}


def test_the_number_of_partitions_changes_no_byte(folder: Path) -> None:
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
