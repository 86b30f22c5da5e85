"""Lines of CSV: the same cells for every reader, and none that a spreadsheet computes."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from components.files.csv_files import csv_line, escape_formula, unescape_formula
from components.files.tables import read_records

PIECES = ["a", "é", ",", '"', "\r", "\n", "\r\n", "\ufeff", "'", "=", "+", "-", "@", "\t", " ", "1", "\u2028", "\uff1d"]
CELLS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=4)))
@example([("\r", "a\r\nb"), ('"', ",")])
@example([("",), ("\n",)])
def test_every_reader_gets_the_cells_that_were_written(tmp_path_factory, rows):
    names = ["a", "b", "c"][: len(rows[0])]
    content = "".join(map(csv_line, [names, *rows]))
    assert list(csv.reader(io.StringIO(content, newline=""), strict=True)) == [names, *map(list, rows)]
    table = arrow_csv.read_csv(
        io.BytesIO(content.encode()),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    file = tmp_path_factory.mktemp("csv") / "rows.csv"
    file.write_bytes(content.encode())
    assert [record.values for record in read_records(str(file), tuple(names))] == rows


def test_numbers_and_nothing():
    assert csv_line([None, 0.5, 3, "x"]) == ",0.5,3,x\n"


@pytest.mark.parametrize(
    "text", ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "'=1", "-2+3", "=-"]
)
def test_what_a_spreadsheet_computes_gets_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "'", "'a", "-1", "+0.5", "-1.5e-3", "-1,5", "+7%", "+", "-", "@", " =1"])
def test_other_texts_and_numbers_stay(text):
    assert escape_formula(text) == text


@given(CELLS)
def test_each_escaped_text_comes_back(text):
    assert unescape_formula(escape_formula(text)) == text
