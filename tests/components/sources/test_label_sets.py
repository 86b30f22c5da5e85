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


COLUMNS = {"label_columns": ("x", "y")}


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        (
            "text,label\na,x\nb,y\n",
            {},
            "separator must stand in column 'label' of .*, got ',', which is in none",
        ),
        (
            "text,label\na,x;y\nb,y\n",
            {},
            "got ',', which is in none of 2 cells; name the separator, or set examples",
        ),
        ("text,label\na,x;;y\n", {"separator": ";"}, "line 2: column 'label': the label must not be empty, got ''"),
        ("text,label\na,\"['x', 'y']\"\n", {}, "column 'label' must hold labels with ',' between them, got "),
        ('text,label\n ,"x,y"\n', {}, "line 2: column 'text' must not be empty"),
        ('text,labels\na,"x,y"\n', {}, "has no column 'label'; did you mean 'labels'"),
        ('text,label\na,"x,x"\n', {}, r"must hold at least 2 labels, got only \['x'\]"),
        ("text,x,y\na,1,0\nb,0,2\n", COLUMNS, "line 3: column 'y' must be 0 or 1, got '2'; write 1"),
        ("text,x,y\na,1,\n", COLUMNS, "line 2: column 'y' must be 0 or 1, got ''"),
        ("text,x,y\na,1,0.5\n", COLUMNS, "column 'y' must be 0 or 1, got '0.5'"),
        ("text,x,y\na,1,0\nb,1,0\n", COLUMNS, "column 'y' of .* must be 1 somewhere, got 0 in all rows"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, content, settings, message):
    with pytest.raises(InputError, match=message) as error:
        LabelSetSource(write_text(tmp_path, content), **settings).check()
    assert "\n" not in str(error.value)


def test_refuses_probabilities_as_names_of_labels(tmp_path):
    with pytest.raises(InputError, match=r"must hold the names of labels, got the numbers 1, 0.5; set examples\.prob"):
        LabelSetSource(write_lists(tmp_path, [("a", [1, 0.5])])).check()


def test_what_is_no_list_of_labels(tmp_path):
    with pytest.raises(
        InputError, match="line 1: column 'label' must be a list or text, got None; write an empty list"
    ):
        LabelSetSource(write_lists(tmp_path, [("a", None)])).check()
    with pytest.raises(InputError, match="field 'label' must be text, got None"):
        LabelSetSource(write_lists(tmp_path, [("a", ["x", None])])).check()


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


def test_a_validation_label_that_training_never_saw(tmp_path):
    later = write_lists(tmp_path, [("b", ["film", "arts"])], "dev.jsonl")
    with pytest.raises(
        InputError, match="validation has the label 'arts', which training never saw; did you mean 'art'"
    ):
        LabelSetSource(write_lists(tmp_path), validation=later).check()


def test_validation_cells_may_have_one_label_each(tmp_path):
    train, dev = write_text(tmp_path, 'text,label\na,"x,y"\n'), write_text(tmp_path, "text,label\nb,x\n", "dev.csv")
    assert LabelSetSource(train, validation=dev).splits()["validation"] == [LabelSetRow("b", ("x",))]


def test_the_fingerprint_follows_settings_and_content(tmp_path):
    file = write_lists(tmp_path)
    prints = {LabelSetSource(file, label_precision=value).fingerprint() for value in (None, 0.9, 0.9)}
    assert len(prints) == 2
    before = LabelSetSource(file).fingerprint()
    write_lists(tmp_path, ROWS[:3])
    assert LabelSetSource(file).fingerprint() != before
