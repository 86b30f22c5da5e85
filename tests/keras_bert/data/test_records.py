import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.data.record_bytes import Column, serialize_rows
from keras_bert.data.record_store import RecordStore
from keras_bert.data.records import RecordError, count_records, read_serialized, serialize, write_records

RECORDS = [bytes([number]) * (50 + number) for number in range(20)]
# 8 bytes of length, 4 of its checksum, the data, 4 of its checksum.
SIZES = [16 + len(record) for record in RECORDS]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_is_written_is_read(tmp_path, compression):
    files = [str(tmp_path / name) for name in ("a", "b")]
    assert [write_records(file, RECORDS, compression=compression) for file in files] == [20, 20]
    assert [record.numpy() for record in read_serialized(files, compression)] == RECORDS * 2
    assert count_records(files, compression) == 40
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]


def test_gzip_is_smaller_and_only_the_broken_file_of_several_is_named(tmp_path):
    for compression in ("none", "gzip"):
        write_records(tmp_path / compression, RECORDS, compression=compression)
    assert (tmp_path / "gzip").stat().st_size < (tmp_path / "none").stat().st_size / 2
    assert len(gzip.decompress((tmp_path / "gzip").read_bytes())) == sum(SIZES)
    write_records(tmp_path / "good", RECORDS)
    write_records(tmp_path / "bad", RECORDS)
    (tmp_path / "bad").write_bytes((tmp_path / "bad").read_bytes()[:-5])
    with pytest.raises(RecordError, match=f"{tmp_path}/bad .* record 19 "):
        count_records([str(tmp_path / "good"), str(tmp_path / "bad")])


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


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_records_by_number(tmp_path, compression):
    records = [serialize({"token_ids": list(range(number)), "text": b"a\0" * number}) for number in range(7)]
    files = [str(tmp_path / name) for name in "abc"]
    for file, part in zip(files, (records[:4], [], records[4:]), strict=True):
        write_records(file, part, compression=compression)
    store = RecordStore(files, compression)
    assert len(store) == 7
    assert store.read(np.array([6, 0, 4, 4])) == [records[6], records[0], records[4], records[4]]
    values, lengths = store.values("token_ids")
    assert lengths.tolist() == list(range(7))
    assert values.tolist() == [value for number in range(7) for value in range(number)]


def test_the_digest_tells_records_apart_and_there_may_be_none(tmp_path):
    def digest(*parts, compression="none"):
        files = [str(tmp_path / f"{number}") for number in range(len(parts))]
        for file, part in zip(files, parts, strict=True):
            write_records(file, part, compression=compression)
        return RecordStore(files, compression).digest

    expected = digest([b"one", b"two"], [], [b"three"])
    assert digest([b"one"], [b"two", b"three"]) == digest([b"one", b"two", b"three"], compression="gzip") == expected
    others = ([b"two", b"one", b"three"], [b"one", b"two"], [b"one", b"two", b"threE"], [b"one", b"tw", b"othree"], [])
    assert len({expected, *map(digest, others)}) == 6
    write_records(tmp_path / "a", [])
    store = RecordStore([str(tmp_path / "a")])
    assert len(store) == 0
    assert store.values("token_ids").lengths.tolist() == []


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_broken_file_is_named(tmp_path, compression):
    file = tmp_path / "a"
    write_records(file, [b"one", b"two"], compression=compression)
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(RecordError, match="a must hold whole records, but record"):
        RecordStore([str(file)], compression)


def naive(columns, row):
    return serialize({name: column.values[row, : column.counts[row]].tolist() for name, column in columns.items()})


@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.dictionaries(
        st.sampled_from(["a", "b_ids", "token_ids", "segment_ids", "x" * 127]),
        st.tuples(st.integers(0, 300), st.sampled_from([2, 128, 129, 16384, 16385, 2**21, 2**28])),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**31),
)
def test_the_bytes_are_those_of_protobuf(rows, features, seed):
    rng = np.random.default_rng(seed)
    columns = {
        name: Column(rng.integers(0, below, (rows, width)).astype(np.int32), rng.integers(0, width + 1, rows))
        for name, (width, below) in features.items()
    }
    made = serialize_rows(columns)
    assert made == [naive(columns, row) for row in range(rows)]


def test_the_largest_numbers_of_each_size():
    edges = [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1]
    columns = {"a": Column(np.array([edges, edges[::-1]]), np.array([9, 3]))}
    assert serialize_rows(columns) == [naive(columns, 0), naive(columns, 1)]


@pytest.mark.parametrize("below", [2**14, 2**17, 2**17 + 1])
def test_many_numbers(below):
    rng = np.random.default_rng(0)
    values = rng.integers(0, below, (200, 100))
    values[0, :6] = [0, 127, 128, 16383, min(below - 1, 16384), below - 1]
    counts = rng.integers(0, 101, 200)
    counts[0] = 100
    # What is padding may be anything.
    values[np.arange(100) >= counts[:, None]] -= 5
    columns = {"a": Column(values, counts)}
    assert serialize_rows(columns) == [naive(columns, row) for row in range(200)]


@pytest.mark.parametrize("wrong", [-1, 2**28])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError, match=rf"columns\['a'\] must be from 0 to 2\^28 - 1, got {wrong}"):
        serialize_rows({"a": Column(np.array([[1, wrong]]), np.array([2]))})
    padding = {"a": Column(np.array([[1, wrong]]), np.array([1]))}
    assert serialize_rows(padding) == [serialize({"a": [1]})]
