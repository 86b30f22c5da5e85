import bz2
import gzip
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.files.text_files import Lines, extension, is_remote, read_chunks, repair

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def write(folder, name, content):
    file = folder / name
    file.write_bytes(content)
    return str(file)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.txt", ".txt"), ("b/a.JSONL.gz", ".jsonl"), ("a.tar.zst", ".tar"), ("v1.2/train", ""), ("a.gz", "")],
)
def test_extension(name, kind):
    assert extension(name) == kind


def test_a_path_with_a_scheme_is_remote():
    assert is_remote("gs://bucket/a")
    assert not is_remote("/data/a")
    assert not is_remote("c:/data")


@given(
    st.lists(st.sampled_from(["a", "é", "\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\0"]), max_size=20).map("".join),
    st.integers(1, 5),
)
def test_lines_end_at_all_three_ends_wherever_chunks_do(tmp_path_factory, text, size):
    file = write(tmp_path_factory.mktemp("a"), "a.txt", text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("components.files.text_files._CHUNK", size)
        lines = Lines(file)
        lines_read = list(lines)
    expected = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert lines_read == (expected if expected[-1] else expected[:-1])
    assert lines.number == len(lines_read)


@pytest.mark.parametrize("suffix", ["", *PACK])
def test_a_line_of_any_size_does_not_fill_the_memory(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("components.files.text_files._LONGEST_LINE", 1 << 20)
    # 4 blocks of 128 KiB of zstandard.
    monkeypatch.setattr("components.files.text_files._PACKED_CHUNK", 16)
    text = b"one\r\n" + b"a" * (1 << 24) + b"\nthree\n"
    file = write(tmp_path, f"a.txt{suffix}", PACK.get(suffix, bytes)(text))
    lines = Lines(file)
    assert (next(lines), lines.end) == ("one", "\r\n")
    tracemalloc.start()
    with pytest.raises(InputError, match=r"a\.txt\S* line 2 must have at most 1048576 bytes, got more$"):
        next(lines)
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert list(Lines(write(tmp_path, "a.txt", "\ufeffone\n\ufefftwo".encode()))) == ["one", "\ufefftwo"]


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_in_many_members(tmp_path, suffix):
    file = write(tmp_path, f"a.txt{suffix}", PACK[suffix](b"one\ntw") + PACK[suffix](b"o\n"))
    assert list(Lines(file)) == ["one", "two"]


@pytest.mark.parametrize("suffix", PACK)
def test_what_is_cut_off_or_not_compressed_at_all(tmp_path, suffix):
    whole = PACK[suffix](bytes(range(256)) * 8)
    for content, reached in ((whole[:-6], r"\d+ bytes: .*end"), (b"plain text", "0 bytes")):
        with pytest.raises(InputError, match=rf"must be a whole \{suffix} file, got after {reached}"):
            list(read_chunks(write(tmp_path, f"a.txt{suffix}", content)))


@pytest.mark.parametrize("suffix", ["", *PACK])
def test_an_empty_file_has_no_lines(tmp_path, suffix):
    assert list(Lines(write(tmp_path, f"a.txt{suffix}", PACK.get(suffix, bytes)(b"")))) == []


def test_a_long_line(tmp_path):
    assert [len(line) for line in Lines(write(tmp_path, "a.txt", b"x" * 5_000_000 + b"\ny"))] == [5_000_000, 1]


def test_bytes_that_are_not_utf8_are_named_by_their_offset_in_the_file(tmp_path):
    file = write(tmp_path, "a.txt", b"one\r\ntwo\n\xc3\xa9 \xff\n")
    with pytest.raises(InputError, match=r"a\.txt must be UTF-8, got byte 0xff at offset 12"):
        list(Lines(file))
    lines = Lines(file, strict=False)
    assert list(lines) == ["one", "two", "é \ufffd"]
    assert lines.take_problem() == "bytes that are not UTF-8 at offset 12"
    assert lines.take_problem() is None


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt must exist, found nothing there"):
        next(Lines(str(tmp_path / "none.txt")))


@pytest.mark.parametrize(
    ("value", "repaired"),
    [
        ("a\0b", ("a\0b", None)),
        (b"\xc3\xa9", ("é", None)),
        (b"ab\xff", ("ab\ufffd", "bytes that are not UTF-8 at offset 2")),
        ("a\ud83d", ("a\ufffd", r"the lone surrogate '\ud83d'")),
    ],
)
def test_repair(value, repaired):
    assert repair(value) == repaired
