import numpy as np
import pytest

from keras_bert.data.record_store import RecordStore
from keras_bert.data.records import RecordError, serialize, write_records


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


def test_the_digest_tells_records_apart(tmp_path):
    def digest(*parts, compression="none"):
        files = [str(tmp_path / f"{number}") for number in range(len(parts))]
        for file, part in zip(files, parts, strict=True):
            write_records(file, part, compression=compression)
        return RecordStore(files, compression).digest

    expected = digest([b"one", b"two"], [], [b"three"])
    assert digest([b"one"], [b"two", b"three"]) == digest([b"one", b"two", b"three"], compression="gzip") == expected
    others = ([b"two", b"one", b"three"], [b"one", b"two"], [b"one", b"two", b"threE"], [b"one", b"tw", b"othree"], [])
    assert len({expected, *map(digest, others)}) == 6


def test_no_records(tmp_path):
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
