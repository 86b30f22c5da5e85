"""The names of a table's columns, of every kind of file."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from components.dsl.errors import InputError
from components.files.headers import read_header


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,"the, label"\none,1\n'),
        ("a.tsv", "text\tthe, label\none\t1\n"),
        # The second row has a field more, the third one less.
        ("a.jsonl", '{"text": "", "the, label": 1}\n\n{"text": "", "the, label": 2, "id": 3}\n'),
    ],
)
def test_text_files(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_header(str(tmp_path / name)) == ("text", "the, label")


def test_a_field_that_a_row_lacks_is_no_column(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "", "label": 1}\n{"text": ""}\n')
    assert read_header(str(tmp_path / "a.jsonl")) == ("text",)


def test_parquet(tmp_path: Path) -> None:
    write_table(pa.table({"text": ["one"], "label": [1]}), tmp_path / "a.parquet")
    assert read_header(str(tmp_path / "a.parquet")) == ("text", "label")


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n")
    assert read_header(str(tmp_path / "a.jsonl")) == ()
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match=r"a\.csv must begin with a line of column names, got an empty file"):
        read_header(str(tmp_path / "a.csv"))
