import csv
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from components.dsl.errors import InputError
from components.files.arrow_files import UnnamedClass
from components.files.tables import ABSENT, as_text, read_records, read_table

# No lone surrogates.
CELLS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(["\r", "\n"]), max_size=8)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
ROWS = [{"id": 7, "text": "one"}, {"id": 8, "text": "two\nlines\0"}]


def write(folder, name, content):
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


def write_arrow(folder, table, make=ipc.new_stream):
    file = folder / "a.arrow"
    with make(str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return str(file)


def read(file, *fields, strict=True):
    return [(record.place, *record.values) for record in read_records(file, fields, strict=strict)]


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4))
def test_any_csv_comes_back_as_it_was_written(tmp_path_factory, rows):
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    file = write(tmp_path_factory.mktemp("csv"), "a.csv", stream.getvalue())
    assert [values for _, *values in read(file, "c", "a")] == [[row[2], row[0]] for row in rows]


@given(st.lists(st.dictionaries(st.sampled_from(["text", "x"]), CELLS, min_size=2), max_size=4))
def test_any_json_lines_come_back_as_they_were_written(tmp_path_factory, rows):
    content = "".join(json.dumps(row) + "\n\n" for row in rows)
    file = write(tmp_path_factory.mktemp("json"), "a.ndjson", content)
    assert read(file, "x", "text") == [(f"line {2 * n + 1}", row["x"], row["text"]) for n, row in enumerate(rows)]


def test_a_row_of_many_lines_is_named_by_its_first(tmp_path):
    file = write(tmp_path, "a.csv", 'text\n"one\r\ntwo"\n\nthree\n')
    assert read(file, "text") == [("line 2", "one\r\ntwo"), ("line 5", "three")]


def test_quotes_in_tsv_are_text_unless_a_cell_is_quoted_as_a_whole(tmp_path):
    cells = {
        '"He said ""no"", twice"': 'He said "no", twice',
        '""""': '"',
        '"a" or "b"': None,
        '"a"': None,
        '""a""': None,
    }
    file = write(tmp_path, "a.tsv", "text\tlabel\n" + "".join(f"{cell}\tx\n" for cell in cells))
    assert [cell for _, cell in read(file, "text")] == [plain or cell for cell, plain in cells.items()]


def test_a_cell_longer_than_the_csv_module_takes_by_itself(tmp_path):
    assert [len(cell) for _, cell in read(write(tmp_path, "a.csv", "text\n" + "x" * 200_000), "text")] == [200_000]


def test_semicolons_are_between_cells_where_the_first_line_has_no_comma(tmp_path):
    file = write(tmp_path, "a.csv", '"text";"n"\r\n"a; b, c";1,5\r\n')
    assert read(file, "text", "n") == [("line 2", "a; b, c", "1,5")]
    assert read(write(tmp_path, "b.csv", "text,a;b\nx;y,z\n"), "text", "a;b") == [("line 2", "x;y", "z")]


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("components.files.tables._LONGEST_CELL", 1000)
    file = write(tmp_path, "a.csv", 'text\none\n"two\n' + "x\n" * 1000)
    with pytest.raises(InputError, match=r"line 3 must be valid csv, got field larger than field limit \(1000\)"):
        read(file, "text")


def test_parquet_and_both_kinds_of_arrow(tmp_path):
    table = pa.Table.from_pylist(ROWS)
    expected = [("row 1", b"one", 7), ("row 2", b"two\nlines\0", 8)]
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(str(tmp_path / "a.parquet"), "text", "id") == expected
    assert read(write_arrow(tmp_path, table), "text", "id") == expected
    assert read(write_arrow(tmp_path, table, ipc.new_file), "text", "id") == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())])
def test_strings_of_all_kinds_of_columns(tmp_path, kind):
    table = pa.table({"text": pa.array(["é", None], pa.string()).cast(kind)})
    assert read(write_arrow(tmp_path, table), "text") == [("row 1", "é".encode()), ("row 2", None)]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_binary_file_that_is_none_or_was_cut_off(tmp_path, name):
    table = pa.Table.from_pylist(ROWS)
    if name == "a.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        write_arrow(tmp_path, table)
    whole = (tmp_path / name).read_bytes()
    for content in (b"", b"no table", whole[: len(whole) // 2]):
        with pytest.raises(InputError, match=rf"{name} must be a whole \.\w+ file, got after row \d: \w"):
            read(write(tmp_path, name, content), "text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"text": ', r"a\.jsonl line 2 must be a JSON object, got an error: Expecting value"),
        ('{"a":' * 100_000, r"a\.jsonl line 1 must be a JSON object, got an error: maximum recursion depth"),
        ('{"text": ' + "1" * 5000 + "}", r"line 1 must be a JSON object, got an error: Exceeds the limit"),
        ("17", r"line 1 must be a JSON object, got 17"),
        ('[{"text": "a"},\n{"text": "b"}]', r"line 1 must be a JSON object, .*; write each object of a JSON array"),
        ('[{"text": "a"}]', r"line 1 must be a JSON object, got \[.*; write each object of a JSON array to a line"),
        ('\n{"texts": "a"}', r"line 2 has no field 'text'; did you mean 'texts'\?"),
    ],
)
def test_malformed_json_lines(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, "a.jsonl", content), "text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", 'a,b\nx,y\n"one\ntwo"\n', r"a\.csv line 3 must have 2 fields, got 1"),
        ("a.csv", 'a,b\nx,"y\n', r"a\.csv line 2 must be valid csv, got unexpected end of data"),
        ("a.tsv", "a\tc\n", r"a\.tsv has no column 'b'; known: a, c"),
        ("a.csv", "a\tb\nx\ty\n", r"a\.csv must have commas or semicolons, got tabs; name it \.tsv$"),
        ("a.csv", "__label__x y\n", r"a\.csv has no column 'a'; known: .*; write the lines of fastText as a table"),
        ("a.txt", "a\tb\n", r"a file of rows must be .*, got .*a\.txt; name a table \.csv or \.tsv$"),
        ("a.csv", POINTER, r"a\.csv must have its content, got a pointer of Git LFS; run git lfs pull$"),
        ("a.parquet", POINTER, r"a\.parquet must have its content, got a pointer of Git LFS; run git lfs pull$"),
        ("a.xlsx", "", r"a file of rows must be \.jsonl, .*, got .*a\.xlsx"),
        ("a.parquet.gz", "", r"a file of rows must be \.jsonl, .*, got .*a\.parquet\.gz"),
    ],
)
def test_malformed_tables(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, name, content), "a", "b")


def test_a_row_knows_what_was_wrong_in_its_own_lines(tmp_path):
    file = write(tmp_path, "a.csv", b'text\n"one\n\xfe"\ntwo\n\xff\n')
    problems = [record.problem for record in read_records(file, ("text",), strict=False)]
    assert problems == ["bytes that are not UTF-8 at offset 10", None, "bytes that are not UTF-8 at offset 17"]
    with pytest.raises(InputError, match=r"a\.csv must be UTF-8, got byte 0xfe at offset 10"):
        read(file, "text")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"^a\.csv line 3: field 'text' must be text, got None; fill it in or leave the row out$"),
        (float("nan"), r"^a\.csv line 3: field 'text' must be text, got nan; fill it in or leave the row out$"),
        (["x"], r"a\.csv line 3: field 'text' must be text, got \['x'\]"),
        (UnnamedClass(-1), r"a\.csv line 3: field 'text' must be text, got -1, to which the file gives no name$"),
        (b"\xff", r"field 'text' must be valid Unicode, got bytes that are not UTF-8 at offset 0"),
        ("\ud83d", r"field 'text' must be valid Unicode, got the lone surrogate '\\ud83d'"),
    ],
)
def test_what_is_no_text(value, message):
    with pytest.raises(InputError, match=message):
        as_text(value, "a.csv line 3", "text")


def test_numbers_are_text_too():
    assert [as_text(value, "", "") for value in (3, 2.5, b"\xc3\xa9", "nan")] == ["3", "2.5", "é", "nan"]


@pytest.mark.parametrize(("content", "got"), [("", "an empty file"), ("\n\na,b\n", "an empty line")])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_table_without_a_line_of_names(tmp_path, kind, content, got):
    file = write(tmp_path, f"a.{kind}", content)
    with pytest.raises(InputError, match=rf"a\.{kind} must begin with a line of column names, got {got}$"):
        read(file, "text")


def test_a_missing_header_is_asked_for_and_long_texts_are_cut(tmp_path):
    file = write(tmp_path, "a.csv", f"3,p2pnet.net News {'x' * 90}\n4,text\n")
    message = (
        f"the table {file} has no column 'label'; known: 3, p2pnet.net News {'x' * 24}...; is the header missing? "
        "The first line was read as the names of the columns"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        read(file, "label")
    named = write(tmp_path, "b.csv", "texts,label\n")
    with pytest.raises(InputError, match=r"has no column 'text'; did you mean 'texts'\?$"):
        read(named, "text")


@pytest.mark.parametrize(
    ("name", "content", "expected_values"),
    [
        ("a.csv", 'text,"the, label"\none,1\n', [(ABSENT, "1", "one")]),
        ("a.tsv", "text\tthe, label\none\t1\n", [(ABSENT, "1", "one")]),
        (
            *("a.jsonl", '{"text": ""}\n\n{"text": "", "the, label": null}\n'),
            [(ABSENT, ABSENT, ""), (ABSENT, None, "")],
        ),
    ],
)
def test_optional_fields_of_text_files(tmp_path, name, content, expected_values):
    file = write(tmp_path, name, content)
    records = read_records(file, ("id", "the, label", "text"), optional=("id", "the, label"))
    assert [record.values for record in records] == expected_values


def test_optional_fields_of_parquet(tmp_path):
    pq.write_table(pa.table({"text": ["one"], "label": [1]}), tmp_path / "a.parquet")
    records = read_records(str(tmp_path / "a.parquet"), ("id", "text", "label"), optional=("id", "label"))
    assert [record.values for record in records] == [(ABSENT, b"one", 1)]


def test_optional_fields_that_stand_twice_are_refused(tmp_path):
    file = write(tmp_path, "a.csv", "text,label,label\none,1,2\n")
    with pytest.raises(InputError, match="must have one column 'label', got 2"):
        list(read_records(file, ("text", "label"), optional=("label",)))


def test_all_cells_but_those_of_columns_of_one_name(tmp_path):
    file = write(tmp_path, "a.csv", "text,n,n,,label\none,1,2,3,x\n")
    (record,) = read_records(file, ("label",), has_cells=True)
    assert (record.values, record.cells) == (("x",), {"text": "one", "": "3", "label": "x"})
    assert [record.cells for record in read_records(file, ("label",))] == [{}]


def test_a_table_of_several_files_has_a_row_and_names_their_places(tmp_path):
    write(tmp_path, "b.csv", "text\nb\n")
    write(tmp_path, "a.jsonl", '{"text": "a"}')
    records = list(read_table(str(tmp_path), ("text",)))
    assert [(record.values, record.name_in(str(tmp_path))) for record in records] == [
        (("a",), "a.jsonl line 1"),
        (("b",), "b.csv line 2"),
    ]
    empty = write(tmp_path, "c.csv", "text\n")
    with pytest.raises(InputError, match=r"^the table .*c\.csv must hold at least one row, got none$"):
        list(read_table(empty, ("text",)))
