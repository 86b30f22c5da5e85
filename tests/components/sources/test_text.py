import dataclasses
import gzip
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from components.dsl.errors import InputError
from components.sources.text import Document, TextSource


def read(folder, name, content=None, **settings):
    if content is not None:
        (folder / name).write_bytes(content)
    return documents(TextSource(str(folder), **settings))


def documents(source):
    return [document for file in source.files() for document in source.documents(file)]


def texts(source):
    """(source, text) of what is valid Unicode."""
    return [(document.source, document.text) for document in documents(source) if document.problem is None]


@given(st.lists(st.sampled_from(["a", "é", " ", "\n", "\r\n", "\u2028", "\x85", "\0", "\u00a0"]), max_size=30))
def test_documents_are_parted_by_lines_of_white_space(tmp_path_factory, parts):
    text = "".join(parts)
    documents_read = read(tmp_path_factory.mktemp("a"), "a.txt", text.encode())
    unified = text.replace("\r\n", "\n")
    expected = [part.strip() for part in re.split(r"\n[^\S\n]*\n\s*|^[^\S\n]*\n", unified) if part.strip()]
    assert documents_read == [Document(f"a.txt#{number}", None, part) for number, part in enumerate(expected)]


def test_a_file_a_document(tmp_path):
    content = b"\n one\r\n\r\ntwo \n\n"
    assert read(tmp_path, "a.txt", content, document_end="file") == [Document("a.txt#0", None, "one\n\ntwo")]


def test_fields_of_every_kind_of_rows(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "one", "key": 5}\n\n{"body": " ", "key": 6}\n{"body": "two", "key": 7}')
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b'key,body\nx,"one\n\ntwo"\ny,three\n'))
    (tmp_path / "c.tsv").write_text('key\tbody\nx\ta "quote\n')
    table = pa.table({"key": ["k", "l"], "body": ["", "six"]})
    pq.write_table(table, tmp_path / "d.parquet")
    with ipc.new_stream(str(tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path, "", text="body", id="key") == [
        Document("a.jsonl:1", "5", "one"),
        Document("a.jsonl:4", "7", "two"),
        Document("b.csv.gz:2", "x", "one\n\ntwo"),
        Document("b.csv.gz:5", "y", "three"),
        Document("c.tsv:2", "x", 'a "quote'),
        Document("d.parquet#1", "l", "six"),
        Document("e.arrow#1", "l", "six"),
    ]


def test_nul_bytes_stay(tmp_path):
    assert read(tmp_path, "a.txt", b"a\0b") == [Document("a.txt#0", None, "a\0b")]
    assert read(tmp_path, "a.csv", b"text\na\0b\n")[0].text == "a\0b"


def test_an_empty_file_has_no_documents(tmp_path):
    assert read(tmp_path, "a.txt", b"") == []
    assert read(tmp_path, "a.jsonl", b"") == []


def test_what_cannot_be_decoded_is_kept_apart(tmp_path):
    documents_read = read(tmp_path, "a.txt", b"good\n\nbad \xff\nand \xfe\n\ngood\n\n\xc3\xa9\xc3", undecodable="drop")
    assert documents_read == [
        Document("a.txt#0", None, "good"),
        Document("a.txt#1", None, "bad \ufffd\nand \ufffd", "bytes that are not UTF-8 at offset 10"),
        Document("a.txt#2", None, "good"),
        Document("a.txt#3", None, "é\ufffd", "bytes that are not UTF-8 at offset 27"),
    ]


def test_rows_that_cannot_be_decoded(tmp_path):
    bad = b'{"text": "a\xff", "x": ""}\n{"text": "b", "x": "\xff"}\n{"text": "c\\ud83d", "x": ""}\n'
    documents_read = read(tmp_path, "a.jsonl", bad, undecodable="drop")
    assert documents_read == [
        Document("a.jsonl:1", None, "a\ufffd", "bytes that are not UTF-8 at offset 11"),
        Document("a.jsonl:2", None, "b"),
        Document("a.jsonl:3", None, "c\ufffd", r"the lone surrogate '\ud83d'"),
    ]
    with pytest.raises(InputError, match=r"a\.jsonl must be UTF-8, got byte 0xff at offset 11"):
        read(tmp_path, "")


def test_strings_of_parquet_are_checked_too(tmp_path):
    strings = pa.array([b"fine", b"bad \xff"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"text": strings}), tmp_path / "a.parquet")
    assert read(tmp_path, "", undecodable="drop") == [
        Document("a.parquet#0", None, "fine"),
        Document("a.parquet#1", None, "bad \ufffd", "bytes that are not UTF-8 at offset 4"),
    ]
    with pytest.raises(InputError, match=r"a\.parquet row 2: field 'text' must be valid Unicode, got bytes"):
        read(tmp_path, "")


def test_a_file_of_an_unknown_kind(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"a file of documents must be \.txt, \.jsonl, .*, got .*a\.docx"):
        list(TextSource(str(tmp_path)).documents(str(tmp_path / "a.docx")))


def test_a_split_of_a_saved_dataset(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    (tmp_path / "train" / "dataset_info.json").write_text("{}")
    table = pa.table({"text": ["one"]})
    with ipc.new_stream(str(tmp_path / "train" / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert TextSource(str(tmp_path), split="train").files() == [str(tmp_path / "train" / "data-00000-of-00001.arrow")]
    assert read(tmp_path, "", split="train") == [Document("train/data-00000-of-00001.arrow#0", None, "one")]


def test_folder_of_text_and_json_lines(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "deep" / "a.jsonl").write_text('{"text": "x\\n\\ny", "id": 3}\n\n{"text": "z"}\n')
    (tmp_path / "readme.md").write_text("not text")
    source = TextSource(str(tmp_path))
    assert texts(source) == [("b.txt#0", "b"), ("deep/a.jsonl:1", "x\n\ny"), ("deep/a.jsonl:3", "z")]


def bad_texts():
    yield "missing", None, r"the corpus must be a file or a folder that exists, got .*missing"
    yield "a.txt", b"fine\nbad \xff byte", r"a\.txt must be UTF-8, got byte 0xff at offset 9"
    yield "a.jsonl", b'{"text": "x"}\n{"txt": "x"}', r"a\.jsonl line 2 has no field 'text'; did you mean 'txt'\?"
    yield "a.jsonl", b'{"text": ', r"a\.jsonl line 1 must be a JSON object"
    yield "a.jsonl", b"[1]", r"a\.jsonl line 1 must be a JSON object, got \[1\]"
    yield "a.jsonl", b'{"text": null}', r"field 'text' must be text, got None"
    yield "a.txt.gz", gzip.compress(b"x" * 99, mtime=0)[:-9], r"a\.txt\.gz must be a whole \.gz file, got after \d+ by"
    yield "a.csv", b"id,words\n", r"the table .*a\.csv has no column 'text'"
    surrogate = r"a\.jsonl line 2: field 'text' must be valid Unicode, got the lone surrogate '\\ud83d'"
    yield "a.jsonl", b'{"text": "a \\ud83d\\ude00"}\n{"text": "a \\ud83d"}', surrogate


@pytest.mark.parametrize(("name", "content", "message"), list(bad_texts()))
def test_bad_text(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for read_it in (TextSource.check, documents):
        with pytest.raises(InputError, match=message):
            read_it(TextSource(str(tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("z.txt", b"\xff", r"z\.txt must be UTF-8"), ("z.jsonl", b'{"text": "a"}\n{', r"z\.jsonl line 2 must be a JSON")],
)
def test_check_reads_the_last_file_too(tmp_path, name, content, message):
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        TextSource(str(tmp_path)).check()


def test_a_corpus_of_several_kinds_without_what_cannot_be_decoded(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\n\nbad \xff\n\nlast")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"text\nfrom a table\n"))
    source = TextSource(str(tmp_path), undecodable="drop")
    source.check()
    assert texts(source) == [("a.txt#0", "good"), ("a.txt#2", "last"), ("b.csv.gz:2", "from a table")]


@pytest.mark.parametrize("content", [b"\xff", b" \n\n"])
def test_only_what_cannot_be_decoded_or_blanks_is_no_corpus(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InputError, match="must hold at least one document, got only blank text"):
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
    prints = {one.fingerprint(), two.fingerprint()}
    (tmp_path / "two" / "b.jsonl").write_text('{"text": "b", "body": "a"}')
    assert len(prints | {two.fingerprint()}) == 3


def test_check_reads_the_start_of_a_file_and_at_least_one_document(tmp_path, monkeypatch):
    monkeypatch.setattr("components.sources.text._CHECKED_CHARACTERS", 3)
    (tmp_path / "a.txt").write_bytes(b"\n\n\n\n\none\n\ntwo\n\n\xff")
    TextSource(str(tmp_path)).check()
    with pytest.raises(InputError, match=r"a\.txt must be UTF-8, got byte 0xff at offset 15"):
        documents(TextSource(str(tmp_path)))
