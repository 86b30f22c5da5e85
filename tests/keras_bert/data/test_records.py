import gzip

import pytest

from keras_bert.data.records import RecordError, count_records, read_records, write_records

RECORDS = [bytes([number]) * (50 + number) for number in range(20)]
# 8 bytes of length, 4 of its checksum, the data, 4 of its checksum.
SIZES = [16 + len(record) for record in RECORDS]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_is_written_is_read(tmp_path, compression):
    files = [str(tmp_path / name) for name in ("a", "b")]
    assert [write_records(file, RECORDS, compression=compression) for file in files] == [20, 20]
    assert [record.numpy() for record in read_records(files, compression)] == RECORDS * 2
    assert count_records(files, compression) == 40
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]


def test_gzip_is_smaller(tmp_path):
    for compression in ("none", "gzip"):
        write_records(tmp_path / compression, RECORDS, compression=compression)
    assert (tmp_path / "gzip").stat().st_size < (tmp_path / "none").stat().st_size / 2
    assert len(gzip.decompress((tmp_path / "gzip").read_bytes())) == sum(SIZES)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    (tmp_path / "scratch").mkdir()

    def broken():
        yield from RECORDS[:5]
        raise OSError("disk full")

    for scratch in (None, tmp_path / "scratch"):
        write_records(tmp_path / "a", RECORDS[:1])
        with pytest.raises(OSError, match="disk full"):
            write_records(tmp_path / "a", broken(), scratch=scratch)
        assert count_records([str(tmp_path / "a")]) == 1
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["a", "scratch"]


def spoil(file, compression, spoiler):
    write_records(file, RECORDS, compression=compression)
    file.write_bytes(spoiler(file.read_bytes()))
    with pytest.raises(RecordError) as caught:
        count_records([str(file)], compression)
    return str(caught.value)


def flip(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("spoiler", "record"),
    [
        (lambda data: data[:-1], 19),
        (lambda data: data[: sum(SIZES[:7]) + 3], 7),
        (lambda data: data[: sum(SIZES[:7]) + 30], 7),
        (lambda data: flip(data, sum(SIZES[:3]) + 40), 3),
        (lambda data: flip(data, sum(SIZES[:4])), 4),
        (lambda data: flip(data, 9), 0),
    ],
)
def test_the_broken_record_is_named(tmp_path, spoiler, record):
    message = spoil(tmp_path / "a", "none", spoiler)
    assert message == f"{tmp_path}/a must hold whole records, but record {record} is truncated or corrupted"


@pytest.mark.parametrize(
    "spoiler",
    [lambda data: data[:-1], lambda data: data[: len(data) // 2], lambda data: data[:5], lambda data: flip(data, 60)],
)
def test_broken_gzip_is_named(tmp_path, spoiler):
    message = spoil(tmp_path / "a", "gzip", spoiler)
    assert message.startswith(f"{tmp_path}/a must hold whole records, but record ")


def test_only_the_broken_file_of_several(tmp_path):
    write_records(tmp_path / "good", RECORDS)
    write_records(tmp_path / "bad", RECORDS)
    (tmp_path / "bad").write_bytes((tmp_path / "bad").read_bytes()[:-5])
    with pytest.raises(RecordError, match=f"{tmp_path}/bad .* record 19 "):
        count_records([str(tmp_path / "good"), str(tmp_path / "bad")])
