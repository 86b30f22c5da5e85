import gzip
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from components.dsl.errors import InputError
from components.sources.text import Document, TextSource, Undecodable, read_documents
from components.sources.text.documents import match_files


def read(folder, name, content=None, **settings):
    if content is not None:
        (folder / name).write_bytes(content)
    source = TextSource(str(folder), **settings)
    return [document for file in source.files() for document in read_documents(file, source)]


@given(st.lists(st.sampled_from(["a", "é", " ", "\n", "\r\n", "\u2028", "\x85", "\0", "\u00a0"]), max_size=30))
def test_documents_are_parted_by_lines_of_white_space(tmp_path_factory, parts):
    text = "".join(parts)
    found = read(tmp_path_factory.mktemp("a"), "a.txt", text.encode())
    unified = text.replace("\r\n", "\n")
    expected = [part.strip() for part in re.split(r"\n[^\S\n]*\n\s*|^[^\S\n]*\n", unified) if part.strip()]
    assert found == [Document(f"a.txt#{number}", None, part) for number, part in enumerate(expected)]


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
    found = read(tmp_path, "a.txt", b"good\n\nbad \xff\nand \xfe\n\ngood\n\n\xc3\xa9\xc3", undecodable="drop")
    assert found == [
        Document("a.txt#0", None, "good"),
        Undecodable("a.txt#1", "bytes that are not UTF-8 at offset 10", "bad \ufffd\nand \ufffd"),
        Document("a.txt#2", None, "good"),
        Undecodable("a.txt#3", "bytes that are not UTF-8 at offset 27", "é\ufffd"),
    ]


def test_rows_that_cannot_be_decoded(tmp_path):
    bad = b'{"text": "a\xff", "x": ""}\n{"text": "b", "x": "\xff"}\n{"text": "c\\ud83d", "x": ""}\n'
    found = read(tmp_path, "a.jsonl", bad, undecodable="drop")
    assert found == [
        Undecodable("a.jsonl:1", "bytes that are not UTF-8 at offset 11", "a\ufffd"),
        Document("a.jsonl:2", None, "b"),
        Undecodable("a.jsonl:3", r"the lone surrogate '\ud83d'", "c\ufffd"),
    ]
    with pytest.raises(InputError, match=r"a\.jsonl must be UTF-8, got byte 0xff at offset 11"):
        read(tmp_path, "")


def test_strings_of_parquet_are_checked_too(tmp_path):
    strings = pa.array([b"fine", b"bad \xff"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"text": strings}), tmp_path / "a.parquet")
    assert read(tmp_path, "", undecodable="drop") == [
        Document("a.parquet#0", None, "fine"),
        Undecodable("a.parquet#1", "bytes that are not UTF-8 at offset 4", "bad \ufffd"),
    ]
    with pytest.raises(InputError, match=r"a\.parquet row 2: field 'text' must be valid Unicode, got bytes"):
        read(tmp_path, "")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\n\nbad \xff", r"a\.txt must be UTF-8, got byte 0xff at offset 10"),
        ("a.txt.gz", gzip.compress(b"x" * 99)[:-9], r"a\.txt\.gz must be a whole \.gz file, got after \d+ bytes"),
        ("a.jsonl", b'{"text": "a"}\n{"txt": "b"}', r"a\.jsonl line 2 has no field 'text'; did you mean 'txt'\?"),
        ("a.jsonl", b'{"text": null}', r"a\.jsonl line 1: field 'text' must be text, got None"),
        ("a.csv", b"id,words\n", r"the table .*a\.csv has no column 'text'"),
    ],
)
def test_malformed_files(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, name, content)


def test_a_file_of_an_unknown_kind(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"a file of documents must be \.txt, \.jsonl, .*, got .*a\.docx"):
        list(read_documents(str(tmp_path / "a.docx"), TextSource(str(tmp_path / "a.docx"))))


def test_a_split_of_a_saved_dataset(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    (tmp_path / "train" / "dataset_info.json").write_text("{}")
    table = pa.table({"text": ["one"]})
    with ipc.new_stream(str(tmp_path / "train" / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert match_files(str(tmp_path), "train") == [str(tmp_path / "train" / "data-00000-of-00001.arrow")]
    assert read(tmp_path, "", split="train") == [Document("train/data-00000-of-00001.arrow#0", None, "one")]
