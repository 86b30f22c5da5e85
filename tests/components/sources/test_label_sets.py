import json

import pyarrow
import pyarrow.parquet
import pytest

from components.dsl.errors import InputError
from components.sources.label_sets import LabelSetRow, LabelSetSource

ROWS = [("a film", ["art", "film"]), ("a tax", []), ("a song", ["art"]), ("a reel", ["film"])]
EXPECTED = [LabelSetRow(text, tuple(labels)) for text, labels in ROWS]


def write_lists(folder, rows=ROWS, name="rows.jsonl"):
    file = folder / name
    file.write_text("".join(json.dumps({"text": text, "label": labels}) + "\n" for text, labels in rows))
    return str(file)


def write_text(folder, content, name="rows.csv"):
    (folder / name).write_text(content)
    return str(folder / name)


def test_lists(tmp_path):
    assert LabelSetSource(write_lists(tmp_path)).splits() == {"train": EXPECTED}
    table = pyarrow.table({"text": [text for text, _ in ROWS], "label": [labels for _, labels in ROWS]})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    assert LabelSetSource(str(tmp_path / "rows.parquet")).splits() == {"train": EXPECTED}


def test_cells_with_a_separator(tmp_path):
    rows = 'text;topics\n"a film"; film | art|art \na tax;\na song;art\na reel;film\n'.replace(";", "\t")
    source = LabelSetSource(write_text(tmp_path, rows.replace('"', ""), "rows.tsv"), label="topics", separator="|")
    assert source.splits() == {"train": EXPECTED}
    assert source.label_order({"film", "art"}) == ["art", "film"]


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("True", "False"), ("1.0", "0.0")])
def test_a_column_for_each_label(tmp_path, yes, no):
    flags = {label: [yes if label in labels else no for _, labels in ROWS] for label in ("film", "art")}
    lines = [f"{text},{film},{art}" for (text, _), film, art in zip(ROWS, flags["film"], flags["art"], strict=True)]
    file = write_text(tmp_path, "text,film,art\n" + "\n".join(lines))
    source = LabelSetSource(file, label_columns=("film", "art"))
    assert source.splits() == {"train": EXPECTED}
    assert source.label_order({"film", "art"}) == ["film", "art"], "in the order of the settings"


def test_columns_of_numbers_and_of_truth_values(tmp_path):
    table = {"text": [text for text, _ in ROWS], "art": [1, 0, 1, 0], "film": [True, False, False, True]}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "rows.parquet")
    source = LabelSetSource(str(tmp_path / "rows.parquet"), label_columns=("art", "film"))
    assert source.splits() == {"train": EXPECTED}


def test_pairs(tmp_path):
    file = write_text(tmp_path, "text,other,label\na,b,x;y\nc,d,\n")
    rows = LabelSetSource(file, second_text="other", separator=";").splits()["train"]
    assert rows == [LabelSetRow("a", ("x", "y"), "b"), LabelSetRow("c", (), "d")]


@pytest.mark.parametrize("flags", [[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[True, False], [True, True]]])
def test_lists_of_0_and_1_are_no_names(tmp_path, flags):
    rule = f"must hold the names of labels, got {len(flags[0])} numbers in every row, 0 or 1; write the names of those"
    with pytest.raises(InputError, match=rf"^column 'label' of .* {rule}"):
        LabelSetSource(write_lists(tmp_path, list(zip("ab", flags, strict=True)))).check()
    cells = "".join(f'{text},"{",".join(map(str, row))}"\n' for text, row in zip("ab", flags, strict=True))
    with pytest.raises(InputError, match=rule):
        LabelSetSource(write_text(tmp_path, f"text,label\n{cells}")).check()
    with pytest.raises(InputError, match=rule):
        LabelSetSource(write_lists(tmp_path, [*zip("ab", flags, strict=True), ("c", [])])).check()


def test_0_and_1_may_be_names(tmp_path):
    rows = LabelSetSource(write_lists(tmp_path, [("a", [0, 1]), ("b", [1])])).splits()["train"]
    assert [row.labels for row in rows] == [("0", "1"), ("1",)]


def test_a_label_of_all_rows_is_named(tmp_path):
    source = LabelSetSource(write_lists(tmp_path, [("a", ["x", "y"]), ("b", ["y"])]))
    assert source.describe(source.splits()) == ["all training rows have the label 'y', which tells the model nothing"]


def test_validation_cells_may_have_one_label_each(tmp_path):
    train, dev = write_text(tmp_path, 'text,label\na,"x,y"\n'), write_text(tmp_path, "text,label\nb,x\n", "dev.csv")
    assert LabelSetSource(train, validation=dev).splits()["validation"] == [LabelSetRow("b", ("x",))]
