import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.corpus.index import (
    MOST_CHUNKS,
    MOST_FILES,
    MOST_ROWS,
    ROW,
    IndexedTexts,
    TextsReader,
    TextsWriter,
    as_place,
    hash_text,
    make_line,
    write_gzip,
)

# Where a document of an index stands does not matter to most tests.
FIELDS: dict[str, Any] = {"place": 0, "reason": 0, "first": True}


def make_texts(folder: Path, *texts: str) -> IndexedTexts:
    writer = TextsWriter(str(folder))
    for text in texts:
        digest = hash_text(text)
        writer.add(None, text, (digest, digest), {"source": f"of {text}"}, [], **FIELDS)
    return writer.close()


def test_the_hash_of_a_text_is_that_of_its_bytes() -> None:
    # BLAKE2b of nothing with 16 bytes, as of `b2sum -l 128`.
    assert hash_text("").hex() == "cae66941d9efbd404e4d88758ea67670"
    assert hash_text("é") == hashlib.blake2b(b"\xc3\xa9", digest_size=16).digest()
    assert hash_text("é") != hash_text("e\u0301")


def test_places_by_hand() -> None:
    assert [as_place(0, 0, 0), as_place(0, 0, 5), as_place(0, 1, 0), as_place(1, 0, 0)] == [0, 5, 1 << 20, 1 << 40]
    assert as_place(0, 0, MOST_ROWS - 1) + 1 == as_place(0, 1, 0)
    assert as_place(0, MOST_CHUNKS - 1, MOST_ROWS - 1) + 1 == as_place(1, 0, 0)
    assert as_place(MOST_FILES - 1, MOST_CHUNKS - 1, MOST_ROWS - 1) == np.iinfo(ROW["place"]).max


def test_a_document_of_the_last_of_millions_of_files_has_a_place(tmp_path: Path) -> None:
    writer = TextsWriter(str(tmp_path))
    digest = hash_text("x")
    for unit in (1 << 20, MOST_FILES - 1):
        writer.add(None, "x", (digest, digest), {}, [1], **FIELDS | {"place": as_place(unit, 0, 0)})
    assert writer.close().rows["place"].tolist() == [1 << 60, ((1 << 24) - 1) << 40]


PLACES = st.tuples(st.integers(0, MOST_FILES - 1), st.integers(0, MOST_CHUNKS - 1), st.integers(0, MOST_ROWS - 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(PLACES))
def test_places_have_the_order_of_files_chunks_and_rows(places: list[tuple[int, int, int]]) -> None:
    assert sorted(places) == sorted(places, key=lambda place: as_place(*place))
    assert len({as_place(*place) for place in places}) == len(set(places))


def test_a_line_by_hand() -> None:
    line = make_line({"id": "ä", "text": 'a "b"\n\u2028\x1f', "sentences": [1, 2]})
    assert line == '{"id":"ä","text":"a \\"b\\"\\n\u2028\\u001f","sentences":[1,2]}\n'.encode()
    assert make_line({}) == b"{}\n"


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), st.none() | st.text() | st.lists(st.integers())))
def test_any_record_is_one_line_and_comes_back(record: dict[str, Any]) -> None:
    try:
        line = make_line(record)
    except UnicodeEncodeError:
        # A lone surrogate, which no file can hold; sources mend or refuse them.
        assert any("\ud800" <= character <= "\udfff" for character in json.dumps(record, ensure_ascii=False))
        return
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == record


def test_index_of_a_document_by_hand(tmp_path: Path) -> None:
    writer = TextsWriter(str(tmp_path))
    whole, piece = hash_text("äb. c\nand more"), hash_text("äb. c")
    writer.add("x/1", "äb. c", (piece, whole), {"source": "s"}, [4, 1], place=9, reason=0, first=False)
    writer.add(None, "", (hash_text(""), hash_text("")), {}, [], place=10, reason=2, first=True)
    file, rows = writer.close()
    named = f'{{"id":"x/1","text":"äb. c","sentences":[4,1],"whole":"{whole.hex()[:16]}"}}\n'.encode()
    unnamed = b'{"id":"cae66941d9efbd404e4d88758ea67670","text":"","sentences":[]}\n'
    assert Path(file).read_bytes() == named + b'{"source":"s"}\n' + unnamed + b"{}\n"
    assert Path(file).parent == tmp_path
    assert rows.dtype == ROW
    key, start = (int(hash_text(text).hex()[:16], 16) for text in ("x/1", "äb. c\nand more"))
    high, low = int(piece.hex()[:16], 16), int(piece.hex()[16:], 16)
    assert rows[0].item() == (key, high, low, start, 9, 0, len(named), 15, 6, 2, 0, True, False)
    high, low = 0xCAE66941D9EFBD40, 0x4E4D88758EA67670
    assert rows[1].item() == (high, high, low, high, 10, len(named) + 15, len(unnamed), 3, 0, 0, 2, False, True)


def test_writers_in_one_folder_do_not_meet_and_may_write_nothing(tmp_path: Path) -> None:
    first, second = make_texts(tmp_path), make_texts(tmp_path)
    assert first.file != second.file
    for file, rows in (first, second):
        assert Path(file).read_bytes() == b""
        assert (rows.shape, rows.dtype) == ((0,), ROW)
    assert list(TextsReader([first.file]).read(np.empty(0, np.int64), first.rows)) == []


def test_documents_of_many_files_come_in_any_order_and_as_often_as_wanted(tmp_path: Path) -> None:
    names = [[f"{letter}{number}é" * (number + 1) for number in range(4)] for letter in "abc"]
    parts = [make_texts(tmp_path, *texts) for texts in names]
    reader = TextsReader([part.file for part in parts])
    places = [(number, row) for number in range(3) for row in range(4)] * 2
    random.Random(0).shuffle(places)
    rows = np.array([parts[number].rows[row] for number, row in places])
    texts_read = list(reader.read(np.array([number for number, _ in places]), rows))
    assert [json.loads(line)["text"] for line, _ in texts_read] == [names[number][row] for number, row in places]
    assert [json.loads(note)["source"] for _, note in texts_read] == [
        f"of {names[number][row]}" for number, row in places
    ]


def test_a_packed_file_holds_its_lines_and_neither_name_nor_time(tmp_path: Path) -> None:
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
def test_a_file_that_breaks_off_does_not_appear(tmp_path: Path, before: bytes | None) -> None:
    def lines() -> Any:
        yield b"one\n"
        raise OSError("No space left on device")

    (tmp_path / "scratch").mkdir()
    target = tmp_path / "a.gz"
    if before:
        target.write_bytes(before)
    with pytest.raises(OSError, match="No space left"):
        write_gzip(lines(), target, str(tmp_path / "scratch"))
    assert (target.read_bytes() if target.exists() else None) == before
