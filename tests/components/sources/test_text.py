import dataclasses
import gzip
import json
import subprocess
import sys

import pytest

from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.table import TableSource, TextRow
from components.sources.text import TextSource
from components.sources.word_order import DocstringTask


def test_text_file_is_parted_by_blank_lines(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffone\r\nmore\r\n\r\n \r\ntwo\n\n\n".encode())
    source = TextSource(str(file))
    source.check()
    assert list(source.documents()) == [("a.txt#0", "one\nmore"), ("a.txt#1", "two")]


def test_folder_of_text_and_json_lines(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "deep" / "a.jsonl").write_text('{"text": "x\\n\\ny", "id": 3}\n\n{"text": "z"}\n')
    (tmp_path / "readme.md").write_text("not text")
    source = TextSource(str(tmp_path))
    assert list(source.documents()) == [("b.txt#0", "b"), ("deep/a.jsonl:1", "x\n\ny"), ("deep/a.jsonl:3", "z")]


def test_fingerprint_follows_the_content(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    before = TextSource(str(file)).fingerprint()
    assert TextSource(str(file)).fingerprint() == before
    file.write_text("two")
    assert TextSource(str(file)).fingerprint() != before


def bad_texts():
    yield "missing", None, r"the corpus must be a file or a folder that exists, got .*missing"
    yield "a.txt", b" \n\n", r"must hold at least one document, got only blank text"
    yield "a.txt", b"fine\nbad \xff byte", r"a\.txt must be UTF-8, got byte 0xff at offset 9"
    yield "a.jsonl", b'{"text": "x"}\n{"txt": "x"}', r"a\.jsonl line 2 has no field 'text'; did you mean 'txt'\?"
    yield "a.jsonl", b'{"text": ', r"a\.jsonl line 1 must be a JSON object"
    yield "a.jsonl", b"[1]", r"a\.jsonl line 1 must be a JSON object, got \[1\]"
    yield "a.jsonl", b'{"text": null}', r"field 'text' must be text, got None"
    surrogate = r"a\.jsonl line 2: field 'text' must be valid Unicode, got the lone surrogate '\\ud83d'"
    yield "a.jsonl", b'{"text": "a \\ud83d\\ude00"}\n{"text": "a \\ud83d"}', surrogate


@pytest.mark.parametrize(("name", "content", "message"), list(bad_texts()))
def test_bad_text(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        TextSource(str(tmp_path / name)).check()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("z.txt", b"\xff", r"z\.txt must be UTF-8"), ("z.jsonl", b'{"text": "a"}\n{', r"z\.jsonl line 2 must be a JSON")],
)
def test_check_reads_the_last_file_too(tmp_path, name, content, message):
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        TextSource(str(tmp_path)).check()


def test_folder_without_text(tmp_path):
    (tmp_path / "readme.md").write_text("no text")
    with pytest.raises(InputError, match=r"must hold \.txt, \.jsonl, .*\.arrow files, got none"):
        TextSource(str(tmp_path)).check()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", 'text\tlabel\na "b\t0\nc, d\t1\n'),
        ("t.csv", 'label,text\n0,"a ""b"\n1,"c, d"\n'),
        ("t.jsonl", '{"text": "a \\"b", "label": 0}\n{"text": "c, d", "label": "1"}\n'),
    ],
)
def test_reads_tables(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    source = TableSource(str(tmp_path / name))
    source.check()
    assert source.splits() == {"train": [TextRow('a "b', "0"), TextRow("c, d", "1")]}


def test_reads_pairs_and_splits(tmp_path):
    (tmp_path / "a.tsv").write_text("q\tp\tsame\none\ttwo\tyes\nx\ty\tno\n")
    (tmp_path / "b.tsv").write_text("same\tq\tp\nyes\tu\tv\n")
    source = TableSource(str(tmp_path / "a.tsv"), test=str(tmp_path / "b.tsv"), text="q", second_text="p", label="same")
    assert source.splits()["test"] == [TextRow("u", "yes", "v")]


def test_table_fingerprint_follows_content_and_columns(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("text\tlabel\tother\na\t0\t1\nb\t1\t0\n")
    prints = {TableSource(str(file)).fingerprint(), TableSource(str(file), label="other").fingerprint()}
    file.write_text("text\tlabel\tother\na\t0\t1\nb\t1\t1\n")
    prints.add(TableSource(str(file)).fingerprint())
    assert len(prints) == 3


def bad_tables():
    yield "t.tsv", b"sentence\tlabel\na\t0\n", r"has no column 'text'; known: label, sentence"
    yield "t.tsv", b"texts\tlabel\na\t0\n", r"has no column 'text'; did you mean 'texts'\?"
    yield "t.tsv", b"", r"has no column 'text'"
    yield "t.tsv", b"text\tlabel\n", r"must hold at least one row, got none"
    yield "t.tsv", b"text\tlabel\na\n", r"t\.tsv line 2 must have 2 fields, got 1"
    yield "t.tsv", b"text\tlabel\n \t1\n", r"t\.tsv line 2: column 'text' must not be empty"
    yield "t.tsv", b"text\tlabel\na\t1\n", r"must hold at least 2 labels, got only \['1'\]"
    yield "t.csv", b'text,label\n"a"b,1\n', r"t\.csv line 2 must be valid csv"
    yield "t.tsv", b"text\tlabel\n\xe9\t1\n", r"must be UTF-8, got byte 0xe9 at offset 11"
    yield "t.xml", b"<a/>", r"must be \.jsonl, \.ndjson, \.csv, \.tsv, \.parquet, \.arrow, got .*t\.xml"
    yield "t.jsonl", b'{"text": "a", "lable": 1}\n', r"line 1 has no field 'label'; did you mean 'lable'\?"


@pytest.mark.parametrize(("name", "content", "message"), list(bad_tables()))
def test_bad_table(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        TableSource(str(tmp_path / name)).check()


def test_missing_table(tmp_path):
    with pytest.raises(InputError, match=r"the table must be a file or a folder that exists, got .*none\.tsv"):
        TableSource(str(tmp_path / "none.tsv")).check()


def test_label_that_training_never_saw(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabel\na\tpositive\nb\tnegative\n")
    (tmp_path / "b.tsv").write_text("text\tlabel\na\tpositve\n")
    with pytest.raises(
        InputError, match=r"validation has the label 'positve', which training never saw; did you mean 'positive'\?"
    ):
        TableSource(str(tmp_path / "a.tsv"), validation=str(tmp_path / "b.tsv")).check()


@pytest.mark.parametrize(("first", "second"), [("2.5", "2.50"), ("1", "1.00000001")])
def test_a_regression_cannot_be_scored_on_a_constant(tmp_path, first, second):
    for name, rows in (("train", "a\t1\nb\t1\n"), ("dev", "a\t1\nb\t2\n"), ("test", f"a\t{first}\nb\t{second}\n")):
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}")
    train, dev, test = (str(tmp_path / f"{name}.tsv") for name in ("train", "dev", "test"))
    TableSource(train, dev, dev, task="regression").check()
    message = f"^test must hold at least 2 different numbers to correlate, got only {float(first):g}$"
    with pytest.raises(InputError, match=message):
        TableSource(train, dev, test, task="regression").check()


def test_a_corpus_of_several_kinds_without_what_cannot_be_decoded(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\n\nbad \xff\n\nlast")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"text\nfrom a table\n"))
    source = TextSource(str(tmp_path), undecodable="drop")
    source.check()
    assert list(source.documents()) == [("a.txt#0", "good"), ("a.txt#2", "last"), ("b.csv.gz:2", "from a table")]


def test_only_what_cannot_be_decoded_is_no_corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match="must hold at least one document"):
        TextSource(str(tmp_path), undecodable="drop").check()


def test_fingerprint_follows_the_settings_and_not_the_place(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").write_text('{"text": "a", "body": "b"}')
    one, two = (TextSource(str(tmp_path / folder)) for folder in ("one", "two"))
    assert one.fingerprint() == two.fingerprint()
    other = dataclasses.replace(one, text="body"), dataclasses.replace(one, document_end="file")
    assert len({source.fingerprint() for source in (one, *other)}) == 3
    (tmp_path / "two" / "a.jsonl").rename(tmp_path / "two" / "b.jsonl")
    assert one.fingerprint() != two.fingerprint()


def test_check_reads_the_start_of_a_file_and_at_least_one_document(tmp_path, monkeypatch):
    monkeypatch.setattr("components.sources.text._CHECKED_CHARACTERS", 3)
    (tmp_path / "a.txt").write_bytes(b"\n\n\n\n\none\n\ntwo\n\n\xff")
    TextSource(str(tmp_path)).check()
    with pytest.raises(InputError, match=r"a\.txt must be UTF-8, got byte 0xff at offset 15"):
        list(TextSource(str(tmp_path)).documents())


def test_numbers_for_a_regression(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("a\tb\tscore\nx\ty\t2.5\n")
    source = TableSource(str(file), text="a", second_text="b", label="score", task="regression")
    assert source.splits() == {"train": [TextRow("x", "2.5", "y")]}
    assert source.fingerprint() != dataclasses.replace(source, task="classification").fingerprint()
    for bad in ("high", "nan", "inf"):
        file.write_text(f"a\tb\tscore\nx\ty\t2.5\nx\ty\t{bad}\n")
        with pytest.raises(InputError, match=rf"a\.tsv line 3: column 'score' must be a finite number, got '{bad}'"):
            source.check()


def test_a_table_in_many_files(tmp_path):
    (tmp_path / "b.csv").write_text("text,label\nb,1\n")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a", "label": 0}'))
    rows = [TextRow("a", "0"), TextRow("b", "1")]
    assert TableSource(str(tmp_path)).splits()["train"] == rows
    assert TableSource(f"{tmp_path}/*").splits()["train"] == rows


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextSource(""), r"TextSource\.path must not be empty"),
        (lambda: TextSource("a", text=""), r"TextSource\.text must not be empty"),
        (lambda: TextSource("a", id="text"), r"TextSource\.id must be another field than text, got 'text'"),
        (lambda: TextSource("a", document_end="page"), r"TextSource\.document_end must be one of .*, got 'page'"),
        (lambda: TextSource("a", undecodable="keep"), r"TextSource\.undecodable must be one of .*, got 'keep'"),
        (lambda: TableSource("a.tsv", task="answers"), r"TableSource\.task must be one of .*, got 'answers'"),
        (lambda: TableSource(""), r"TableSource\.train must not be empty"),
        (lambda: TableSource("a.tsv", text="label"), r"TableSource\.text, label and second_text must be different"),
        (lambda: DocstringCorpus(megabytes=0), r"DocstringCorpus\.megabytes must be positive and finite, got 0"),
        (lambda: DocstringCorpus(megabytes=float("inf")), r"DocstringCorpus\.megabytes must be positive and finite"),
        (lambda: DocstringTask(rows_per_label=1), r"DocstringTask\.rows_per_label must be at least 8, got 1"),
    ],
)
def test_sources_are_checked_on_creation(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("make", "other"), [(DocstringCorpus, 1.0), (DocstringTask, 100)])
def test_docstring_fingerprints_follow_the_option(make, other):
    make().check()
    assert make().fingerprint() == make().fingerprint()
    assert make(other).fingerprint() != make().fingerprint()


def test_steps_are_imported_without_heavy_libraries():
    steps = ("ingest_corpus", "build_vocabulary", "mask_examples", "ingest_examples", "sources.docstrings")
    code = (
        f"import sys, json; [__import__('components.' + step) for step in {steps}]; print(json.dumps([*sys.modules]))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"tensorflow", "tensorflow_text", "keras", "apache_beam", "numpy", "sklearn", "datasketch", "pyarrow"}
    assert not heavy.intersection(json.loads(loaded))
