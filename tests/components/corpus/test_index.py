import gzip
import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.corpus.index import (
    MOST_CHUNKS,
    MOST_FILES,
    MOST_ROWS,
    ROW,
    TextsIndexer,
    as_place,
    hash_text,
    make_line,
    read_texts,
    write_gzip,
)
from components.corpus.partitions import write_partition

# Where a document of an index stands does not matter to most tests.
FIELDS = {"place": 0, "reason": 0, "first": True}


def make_texts(*texts):
    indexer = TextsIndexer()
    for text in texts:
        digest = hash_text(text)
        indexer.add(None, text, (digest, digest), {"source": f"of {text}"}, [], **FIELDS)
    return indexer.finish()


def test_the_hash_of_a_text_is_that_of_its_bytes():
    # BLAKE2b of nothing with 16 bytes, as of `b2sum -l 128`.
    assert hash_text("").hex() == "cae66941d9efbd404e4d88758ea67670"
    assert hash_text("é") == hashlib.blake2b(b"\xc3\xa9", digest_size=16).digest()
    assert hash_text("é") != hash_text("e\u0301")


def test_places_by_hand():
    assert [as_place(0, 0, 0), as_place(0, 0, 5), as_place(0, 1, 0), as_place(1, 0, 0)] == [0, 5, 1 << 20, 1 << 40]
    assert as_place(0, 0, MOST_ROWS - 1) + 1 == as_place(0, 1, 0)
    assert as_place(0, MOST_CHUNKS - 1, MOST_ROWS - 1) + 1 == as_place(1, 0, 0)
    assert as_place(MOST_FILES - 1, MOST_CHUNKS - 1, MOST_ROWS - 1) == np.iinfo(ROW["place"]).max


def test_a_document_of_the_last_of_millions_of_files_has_a_place():
    indexer = TextsIndexer()
    digest = hash_text("x")
    for unit in (1 << 20, MOST_FILES - 1):
        indexer.add(None, "x", (digest, digest), {}, [1], **FIELDS | {"place": as_place(unit, 0, 0)})
    assert indexer.finish().rows["place"].tolist() == [1 << 60, ((1 << 24) - 1) << 40]


PLACES = st.tuples(st.integers(0, MOST_FILES - 1), st.integers(0, MOST_CHUNKS - 1), st.integers(0, MOST_ROWS - 1))


@settings(max_examples=50)
@given(st.lists(PLACES))
def test_places_have_the_order_of_files_chunks_and_rows(places):
    assert sorted(places) == sorted(places, key=lambda place: as_place(*place))
    assert len({as_place(*place) for place in places}) == len(set(places))


def test_a_line_by_hand():
    line = make_line({"id": "ä", "text": 'a "b"\n\u2028\x1f', "sentences": [1, 2]})
    assert line == '{"id":"ä","text":"a \\"b\\"\\n\u2028\\u001f","sentences":[1,2]}\n'.encode()
    assert make_line({}) == b"{}\n"


@settings(max_examples=50)
@given(st.dictionaries(st.text(), st.none() | st.text() | st.lists(st.integers())))
def test_any_record_is_one_line_and_comes_back(record):
    try:
        line = make_line(record)
    except UnicodeEncodeError:
        # A lone surrogate, which no file can hold; sources mend or refuse them.
        assert any("\ud800" <= character <= "\udfff" for character in json.dumps(record, ensure_ascii=False))
        return
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == record


def test_index_of_a_document_by_hand():
    indexer = TextsIndexer()
    whole, piece = hash_text("äb. c\nand more"), hash_text("äb. c")
    indexer.add("x/1", "äb. c", (piece, whole), {"source": "s"}, [4, 1], place=9, reason=0, first=False)
    indexer.add(None, "", (hash_text(""), hash_text("")), {}, [], place=10, reason=2, first=True)
    lines, rows = indexer.finish()
    named = f'{{"id":"x/1","text":"äb. c","sentences":[4,1],"whole":"{whole.hex()[:16]}"}}\n'.encode()
    unnamed = b'{"id":"cae66941d9efbd404e4d88758ea67670","text":"","sentences":[]}\n'
    assert lines == [named + b'{"source":"s"}\n', unnamed + b"{}\n"]
    assert rows.dtype == ROW
    key, start = (int(hash_text(text).hex()[:16], 16) for text in ("x/1", "äb. c\nand more"))
    high, low = int(piece.hex()[:16], 16), int(piece.hex()[16:], 16)
    assert rows[0].item() == (key, high, low, start, 9, len(named), 15, 6, 2, 0, True, False)
    high, low = 0xCAE66941D9EFBD40, 0x4E4D88758EA67670
    assert rows[1].item() == (high, high, low, high, 10, len(unnamed), 3, 0, 0, 2, False, True)


@pytest.mark.parametrize("frame_bytes", [1, 100, 1 << 18])
def test_texts_of_a_file_come_in_any_order_and_as_often_as_wanted(tmp_path, monkeypatch, frame_bytes):
    monkeypatch.setattr("components.corpus.partitions._FRAME_BYTES", frame_bytes)
    texts = [f"{number}é" * (number + 1) for number in range(5)]
    lines, rows = make_texts(*texts)
    partition = write_partition(0, [b"".join(lines)], [rows], str(tmp_path))
    ordered = sorted(texts, key=lambda text: hash_text(text)[:8])
    order = [3, 0, 4, 0]
    records = list(read_texts(partition.texts, partition.load()[order]))
    assert [json.loads(line)["text"] for line, _ in records] == [ordered[row] for row in order]
    assert [json.loads(note)["source"] for _, note in records] == [f"of {ordered[row]}" for row in order]
    assert make_texts().rows.shape == (0,)
    assert list(read_texts(partition.texts, partition.load()[:0])) == []


def test_a_packed_file_holds_its_lines_and_neither_name_nor_time(tmp_path):
    for name in ("a.gz", "another name.gz"):
        write_gzip(iter([b"one\n", "zwö\n".encode()]), tmp_path / name, str(tmp_path))
    first, second = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert first == second
    assert gzip.decompress(first) == "one\nzwö\n".encode()
    # RFC 1952, section 2.3: no flags, so no name, and a time of 0.
    assert first[3:8] == bytes(5)
    write_gzip([], tmp_path / "a.gz", str(tmp_path))
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b""


@pytest.mark.parametrize("before", [None, b"of the run before"])
def test_a_file_that_breaks_off_does_not_appear(tmp_path, before):
    def lines():
        yield b"one\n"
        raise OSError("No space left on device")

    (tmp_path / "scratch").mkdir()
    target = tmp_path / "a.gz"
    if before:
        target.write_bytes(before)
    with pytest.raises(OSError, match="No space left"):
        write_gzip(lines(), target, str(tmp_path / "scratch"))
    assert (target.read_bytes() if target.exists() else None) == before
