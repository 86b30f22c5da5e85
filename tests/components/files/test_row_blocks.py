"""Whole rows of every kind of table, and the rows that cannot be used."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from components.answers.cut_table import column_values, texts_of
from components.dsl.errors import InputError
from components.files.tables import are_lines, read_blocks

# The second of these strings is not UTF-8; pyarrow does not look.
BROKEN = pa.StringArray.from_buffers(3, *pa.array([b"a", b"\xff", b"b"], pa.binary()).buffers()[1:])


def test_cells_come_with_their_places_and_problems(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b'text,n\ncow,1\n\n"two\nlines",2\nonly one\n\xff,3\na,b,c\n')
    (block,) = read_blocks(str(file))
    assert block.places == ["line 2", "line 4", "line 6", "line 7", "line 8"]
    assert block.problems == {
        2: "a row must have 2 fields, got 1",
        3: "bytes that are not UTF-8 at offset 37",
        4: "a row must have 2 fields, got 3",
    }
    assert block.rows.slice(0, 2).to_pylist() == [{"text": "cow", "n": "1"}, {"text": "two\nlines", "n": "2"}]
    assert not are_lines(block.rows)


def test_a_header_is_utf8_and_names_a_column_once(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"te\xffxt\ncow\n")
    with pytest.raises(InputError, match=r"a\.csv line 1 must be UTF-8, got bytes that are not UTF-8 at offset 2$"):
        list(read_blocks(str(tmp_path / "a.csv")))
    (tmp_path / "b.tsv").write_text("text\ttext\ncow\then\n")
    with pytest.raises(InputError, match=r"b\.tsv must have one column 'text', got 2$"):
        list(read_blocks(str(tmp_path / "b.tsv")))


def test_json_lines_are_kept_as_they_are(tmp_path):
    lines = ['{"text": "cow", "n": 1.10}', "", '{"other": [1]}', "[1]", "{", '{"text": null}']
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (block,) = read_blocks(str(tmp_path / "a.jsonl.gz"))
    assert block.places == ["line 1", "line 3", "line 4", "line 5", "line 6"]
    assert block.problems[2].startswith("the line must be a JSON object, got [1]; write each object")
    assert block.problems[3].startswith("the line must be a JSON object, got an error: ")
    assert are_lines(block.rows)
    good = block.rows.take([0, 1, 4])
    assert good.column(0)[0].as_py() == lines[0]
    texts = list(texts_of(column_values(good, "text"), "text"))
    assert texts[0] == ("cow", None)
    assert [reason for _, reason in texts[1:]] == [
        "field 'text' must be there, got none",
        "field 'text' must be text, got None; fill it in or leave the row out",
    ]


@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
def test_columns_of_arrow_keep_their_types_and_dictionaries_are_decoded(tmp_path, kind):
    table = pa.table({"text": BROKEN, "n": pa.array([1, 2, None], pa.int8()), "c": pa.array(["x", "y", "x"])})
    table = table.set_column(2, "c", table["c"].dictionary_encode()).replace_schema_metadata({"pandas": "{}"})
    file = str(tmp_path / f"a{kind}")
    if kind == ".parquet":
        pq.write_table(table, file)
    else:
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    (block,) = read_blocks(file)
    assert block.places == ["row 1", "row 2", "row 3"]
    assert block.problems == {1: "field 'text' must be UTF-8, got other bytes"}
    assert block.rows.schema == pa.schema({"text": pa.string(), "n": pa.int8(), "c": pa.string()})
    assert block.rows.schema.metadata is None
    assert block.rows.take([0, 2]).to_pylist() == [{"text": "a", "n": 1, "c": "x"}, {"text": "b", "n": None, "c": "x"}]


def test_blocks_are_small_and_rows_are_counted_through(tmp_path):
    with ipc.new_file(str(tmp_path / "a.arrow"), pa.schema({"n": pa.int64()})) as writer:
        for _ in range(2):
            writer.write_table(pa.table({"n": range(600)}))
    blocks = list(read_blocks(str(tmp_path / "a.arrow")))
    assert max(block.rows.num_rows for block in blocks) <= 256
    assert [place for block in blocks for place in block.places] == [f"row {row}" for row in range(1, 1201)]
    (tmp_path / "long.tsv").write_text("text\n" + f"{'x' * 700_000}\n" * 4)
    assert [block.rows.num_rows for block in read_blocks(str(tmp_path / "long.tsv"))] == [2, 2]


def test_texts():
    values = ["a", 7, 0.5, None, float("nan"), " \u2028", ["a"], "\ud83d"]
    texts = list(texts_of(values, "t"))
    assert [text for text, reason in texts if reason is None] == ["a", "7", "0.5"]
    assert [reason for _, reason in texts[3:]] == [
        "field 't' must be text, got None; fill it in or leave the row out",
        "field 't' must be text, got nan; fill it in or leave the row out",
        "field 't' must not be empty",
        "field 't' must be text, got ['a']",
        "field 't' must be valid Unicode, got the lone surrogate '\\ud83d'",
    ]
