import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from components.dsl.errors import InputError
from components.files.arrow_files import UnnamedClass, read_columns
from tests.samples import long_but

KINDS = ("parquet", "stream", "file")
CLASSES = {"names": ["bad", "good"], "_type": "ClassLabel"}
# The second of these strings is not UTF-8; pyarrow does not look.
BROKEN = pa.StringArray.from_buffers(2, *pa.array([b"a", b"\xff"], pa.binary()).buffers()[1:])


def write(folder, table, kind, *, rows=1 << 20):
    """A file with at most so many rows in a group or batch."""
    file = folder / ("a.parquet" if kind == "parquet" else "a.arrow")
    if kind == "parquet":
        pq.write_table(table, file, row_group_size=rows)
        return str(file)
    with {"stream": ipc.new_stream, "file": ipc.new_file}[kind](str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return str(file)


def described(table, features):
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


@settings(max_examples=20)
@given(st.lists(st.tuples(st.none() | st.text(max_size=6), st.integers(-9, 9)), max_size=7), st.integers(1, 4))
def test_any_rows_come_back_with_their_strings_as_bytes(tmp_path_factory, rows, group):
    texts, numbers = [text for text, _ in rows], [number for _, number in rows]
    table = pa.table({"text": pa.array(texts, pa.string()), "n": pa.array(numbers, pa.int64())})
    expected = [(number, None if text is None else text.encode()) for text, number in rows]
    folder = tmp_path_factory.mktemp("rows")
    for kind in KINDS:
        assert list(read_columns(write(folder, table, kind, rows=group), ("n", "text"))) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_decimals_of_databases_are_numbers(tmp_path, kind):
    values = [Decimal("1.50"), None], [Decimal(3), Decimal(-4)]
    columns = {"n": pa.array(values[0], pa.decimal128(5, 2)), "whole": pa.array(values[1], pa.decimal256(40, 0))}
    rows = list(read_columns(write(tmp_path, pa.table(columns), kind), ("n", "whole")))
    assert rows == [(1.5, 3), (None, -4)]
    assert [*map(type, rows[0])] == [float, int]


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_stay_in_their_order(tmp_path, kind):
    # More than are read at once, in groups that end elsewhere.
    file = write(tmp_path, pa.table({"n": range(1000)}), kind, rows=300)
    assert list(read_columns(file, ("n",))) == [(number,) for number in range(1000)]


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_columns_that_are_asked_for_are_looked_at(tmp_path, kind):
    table = pa.Table.from_arrays([BROKEN, BROKEN, pa.array([1, 2])], names=["twice", "twice", "n"])
    file = write(tmp_path, table, kind)
    assert list(read_columns(file, ("n", "n"))) == [(1, 1), (2, 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dot_in_a_name_is_a_dot_and_no_way_into_a_column(tmp_path, kind):
    table = pa.table({"a": [{"b": 1}], "a.b": ["x"]})
    assert list(read_columns(write(tmp_path, table, kind), ("a.b", "a"))) == [(b"x", {"b": 1})]
    file = write(tmp_path, table.select(["a"]), kind)
    with pytest.raises(InputError) as error:
        list(read_columns(file, ("a.b",)))
    assert str(error.value) == f"the table {file} has no column 'a.b'; known: a"


@pytest.mark.parametrize("kind", KINDS)
def test_strings_that_are_not_utf8_come_as_they_are(tmp_path, kind):
    assert list(read_columns(write(tmp_path, pa.table({"text": BROKEN}), kind), ("text",))) == [(b"a",), (b"\xff",)]
    if kind != "parquet":
        table = pa.table({"text": pa.DictionaryArray.from_arrays([1, 0, 1], BROKEN)})
        assert list(read_columns(write(tmp_path, table, kind), ("text",))) == [(b"\xff",), (b"a",), (b"\xff",)]


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_a_list_of_strings_that_are_not_utf8_is_named_by_the_row_before(tmp_path, kind):
    file = write(tmp_path, pa.table({"words": pa.ListArray.from_arrays([0, 1, 2], BROKEN)}), kind, rows=1)
    rows = read_columns(file, ("words",))
    assert next(rows) == (["a"],)
    with pytest.raises(InputError) as error:
        next(rows)
    assert str(error.value) == (
        f"{file} must be a whole .arrow file, got after row 1: "
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    )


def test_rows_before_the_place_where_a_stream_ends_too_early_are_given(tmp_path):
    file = write(tmp_path, pa.table({"text": ["x" * 1000] * 4}), "stream", rows=1)
    whole = Path(file).read_bytes()
    Path(file).write_bytes(whole[: len(whole) * 5 // 8])
    rows = read_columns(file, ("text",))
    assert [next(rows), next(rows)] == [(b"x" * 1000,)] * 2
    with pytest.raises(InputError) as error:
        next(rows)
    assert str(error.value).startswith(f"{file} must be a whole .arrow file, got after row 2: ")
    assert "\n" not in str(error.value)


# Reads a file once for each planted damage: (place, byte) on a line each; prints what became of it.
READ_DAMAGED = """
import json, pathlib, resource, sys
from components.files.arrow_files import read_columns
from components.dsl.errors import InputError
# A damaged batch may say that it takes exabytes; with a limit it does not depend on the machine which are too many.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
whole, file = (pathlib.Path(name) for name in sys.argv[1:3])
for place, byte in json.load(sys.stdin):
    content = bytearray(whole.read_bytes())
    content[place] = byte
    file.write_bytes(content)
    try:
        print(json.dumps(len(list(read_columns(str(file), ("text", "kind", "words", "answers"))))))
    except InputError as error:
        print(json.dumps(str(error)))
"""


@pytest.mark.parametrize("kind", long_but(["file"], ["stream", "file"]))
def test_a_file_with_a_damaged_byte_is_read_or_refused_in_one_line(tmp_path, kind):
    words = [["a", "bc", "d"], [], ["e"], ["f", "gh"]] * 4
    texts = pa.array([" ".join(word) for word in words])
    answers = [{"text": word, "answer_start": [0] * len(word)} for word in words]
    columns = {"text": texts, "kind": texts.dictionary_encode(), "words": words, "answers": answers}
    whole = Path(write(tmp_path, pa.table(columns), kind, rows=8))
    generator = random.Random(0)
    content = whole.read_bytes()
    damages = [(place, content[place] ^ generator.randrange(1, 256)) for place in range(0, len(content), 3)]
    file = tmp_path / "damaged.arrow"
    # In a process of its own, as a crash is one of the things that must not happen.
    child = subprocess.run(
        [sys.executable, "-c", READ_DAMAGED, str(whole), str(file)],
        input=json.dumps(damages),
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    records = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(records) == len(damages)
    refused = [word for word in records if isinstance(word, str)]
    assert len(refused) > 100
    assert len(records) - len(refused) > 100
    for message in refused:
        assert message.startswith((f"{file} must be a whole .arrow file, got after row ", f"the table {file} "))
        assert "\n" not in message


def test_damage_in_a_column_that_nobody_asks_for_is_no_damage(tmp_path):
    # The offsets go back, so that the second string would have a negative length.
    offsets = pa.py_buffer(np.array([0, 3, 1], np.int32))
    table = pa.table({"text": pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abc")), "n": [1, 2]})
    file = write(tmp_path, table, "stream")
    assert list(read_columns(file, ("n",))) == [(1,), (2,)]
    with pytest.raises(InputError) as error:
        list(read_columns(file, ("n", "text")))
    assert str(error.value).startswith(f"{file} must be a whole .arrow file, got after row 0: ")


def test_an_extension_type_is_read_as_any_other(tmp_path):
    kind = pa.fixed_shape_tensor(pa.int32(), [2])
    column = pa.ExtensionArray.from_storage(kind, pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)))
    file = write(tmp_path, pa.table({"x": column, "s": pa.StructArray.from_arrays([column], ["t"])}), "stream")
    assert list(read_columns(file, ("x",))) == [([1, 2],), ([3, 4],)]
    assert [row for (row,) in read_columns(file, ("s",))] == [{"t": [1, 2]}, {"t": [3, 4]}]


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_a_time_that_python_cannot_tell(tmp_path, unit):
    file = write(tmp_path, pa.table({"when": pa.array([1 << 62], pa.timestamp(unit))}), "stream")
    with pytest.raises(InputError) as error:
        list(read_columns(file, ("when",)))
    assert str(error.value).startswith(f"{file} must be a whole .arrow file, got after row 0: ")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_file_that_is_not_there(tmp_path, name):
    with pytest.raises(InputError) as error:
        next(read_columns(str(tmp_path / name), ("text",)))
    assert str(error.value) == f"the file {tmp_path / name} must exist, found nothing there"


def test_the_case_of_the_extension_does_not_matter(tmp_path):
    file = Path(write(tmp_path, pa.table({"n": [3]}), "parquet"))
    assert list(read_columns(str(file.rename(tmp_path / "B.PARQUET")), ("n",))) == [(3,)]


@pytest.mark.parametrize("kind", KINDS)
def test_only_numbers_of_a_class_become_its_name(tmp_path, kind):
    values = pa.array([[[1, 0], [-1]], [[2]], None], pa.list_(pa.list_(pa.int8())))
    table = described(
        pa.table({"tags": values, "n": [0, 1, 1], "text": ["0", "1", ""]}),
        {"tags": {"feature": CLASSES}, "n": {"dtype": "int8"}, "text": CLASSES},
    )
    assert list(read_columns(write(tmp_path, table, kind), ("n", "tags", "text"))) == [
        (0, [["good", "bad"], [UnnamedClass(-1)]], b"0"),
        (1, [[UnnamedClass(2)]], b"1"),
        (1, None, b""),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_that_pandas_made_floats_become_their_names(tmp_path, kind):
    table = described(pa.table({"n": [0.0, 1.0, None, 0.5]}), {"n": CLASSES})
    assert list(read_columns(write(tmp_path, table, kind), ("n",))) == [("bad",), ("good",), (None,), (0.5,)]


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"other": "x"},
        {"huggingface": "no JSON"},
        {"huggingface": "[]"},
        {"huggingface": '{"info": {"features": {"other": {"names": ["bad", "good"]}}}}'},
        {"huggingface": '{"info": {"features": {"label": {"names": {"dtype": "string"}}}}}'},
        {"huggingface": '{"info": {"features": {"label": ["bad", "good"]}}}'},
        {"huggingface": b"\xff"},
    ],
)
def test_numbers_stay_numbers_where_the_metadata_name_no_classes(tmp_path, metadata):
    table = pa.table({"label": [1, 0]}).replace_schema_metadata(metadata)
    assert list(read_columns(write(tmp_path, table, "stream"), ("label",))) == [(1,), (0,)]
