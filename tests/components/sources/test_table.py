import contextlib
import dataclasses
import gzip
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.dsl.errors import InputError
from components.files.columns import MissingColumnError
from components.sources.shared import KeptColumns, RowOrigin
from components.sources.table import TableSource, TextRow


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", 'text\tlabel\na "b\t0\nc, d\t1\n'),
        ("t.csv", 'label,text\n0,"a ""b"\n1,"c, d"\n'),
        ("t.jsonl", '{"text": "a \\"b", "label": 0}\n{"text": "c, d", "label": "1"}\n'),
    ],
)
def test_reads_tables(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    source = TableSource(str(tmp_path / name))
    source.check()
    assert source.splits() == {"train": [TextRow('a "b', "0"), TextRow("c, d", "1")]}


def test_reads_pairs_and_splits(tmp_path):
    (tmp_path / "a.tsv").write_text("q\tp\tsame\none\ttwo\tyes\nx\ty\tno\n")
    (tmp_path / "b.tsv").write_text("same\tq\tp\nyes\tu\tv\n")
    source = TableSource(str(tmp_path / "a.tsv"), test=str(tmp_path / "b.tsv"), text="q", second_text="p", label="same")
    assert source.splits()["test"] == [TextRow("u", "yes", "v")]


@pytest.mark.parametrize(("first", "second"), [("2.5", "2.50"), ("1", "1.00000001")])
def test_a_regression_cannot_be_scored_on_a_constant(tmp_path, first, second):
    for name, rows in (("train", "a\t1\nb\t1\n"), ("dev", "a\t1\nb\t2\n"), ("test", f"a\t{first}\nb\t{second}\n")):
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}")
    train, dev, test = (str(tmp_path / f"{name}.tsv") for name in ("train", "dev", "test"))
    TableSource(train, dev, dev, task="regression").check()
    message = f"^test must hold at least 2 different numbers to correlate, got only {float(first):g}$"
    with pytest.raises(InputError, match=message):
        TableSource(train, dev, test, task="regression").check()


@pytest.mark.parametrize(("mean", "spread", "is_refused"), [(1e6, 99, True), (-1e6, 99, True), (1e6, 101, False)])
def test_numbers_that_float32_cannot_tell_apart(tmp_path, mean, spread, is_refused):
    file = tmp_path / "a.tsv"
    file.write_text(f"text\tlabel\na\t{mean - spread}\nb\t{mean + spread}\n")
    rule = r"^column 'label' of .*a\.tsv must have a standard deviation of at least 100, 0\.0001 of its mean -?1e\+06, "
    refused = pytest.raises(
        InputError, match=rf"{rule}.* got 99; subtract a constant, as {mean:.0f}, from all numbers$"
    )
    with refused if is_refused else contextlib.nullcontext():
        TableSource(str(file), task="regression").check()


def test_numbers_for_a_regression(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("a\tb\tscore\nx\ty\t2.5\n")
    source = TableSource(str(file), text="a", second_text="b", label="score", task="regression")
    assert source.splits() == {"train": [TextRow("x", "2.5", "y")]}
    assert source.fingerprint() != dataclasses.replace(source, task="classification").fingerprint()
    for bad in ("high", "nan", "inf", "1_2", "٣"):
        file.write_text(f"a\tb\tscore\nx\ty\t2.5\nx\ty\t{bad}\n", "utf-8")
        with pytest.raises(InputError, match=rf"a\.tsv line 3: column 'score' must be a finite number, got '{bad}'"):
            source.check()
    file.write_text("a\tb\tscore\nx\ty\t2.5\nx\ty\t1e39\n")
    rule = r"be at most 3\.4028e\+38 in size, the largest number of float32"
    with pytest.raises(InputError, match=rf"a\.tsv line 3: column 'score' must {rule}, got '1e39'"):
        source.check()


def test_a_row_without_a_class_is_refused_where_the_file_names_its_classes(tmp_path):
    features = {"label": {"names": ["entailment", "neutral"], "_type": "ClassLabel"}}
    columns = {"text": ["a", "b", "c"], "label": [0, 1, -1], "topic": [0, -1, 1]}
    features["topic"] = features["label"]
    kept = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(kept), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"a\.parquet row 3: field 'label' must be text, got -1, to which the file gives"
    ):
        TableSource(str(tmp_path / "a.parquet")).check()
    columns["label"][2] = 1
    pq.write_table(pa.table(columns).replace_schema_metadata(kept), tmp_path / "a.parquet")
    source = TableSource(str(tmp_path / "a.parquet"))
    rows = source.splits(KeptColumns(test=("topic",)))["train"]
    assert [row.label for row in rows] == ["entailment", "neutral", "neutral"]
    assert [row.origin.columns for row in rows] == [{"topic": "entailment"}, {"topic": ""}, {"topic": "neutral"}]


def test_a_table_in_many_files(tmp_path):
    (tmp_path / "b.csv").write_text("text,label\nb,1\n")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a", "label": 0}'))
    rows = [TextRow("a", "0"), TextRow("b", "1")]
    assert TableSource(str(tmp_path)).splits()["train"] == rows
    assert TableSource(f"{tmp_path}/*").splits()["train"] == rows


def test_the_likeness_of_pairs_is_scaled(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("a\tb\tscore\nx\ty\t2.5\nx\tz\t-5\n")
    source = TableSource(str(file), text="a", second_text="b", label="score", task="embedding", scale=5.0)
    assert source.splits() == {"train": [TextRow("x", "0.5", "y"), TextRow("x", "-1.0", "z")]}
    others = dataclasses.replace(source, scale=10.0), dataclasses.replace(source, task="regression", scale=1.0)
    assert len({one_source.fingerprint() for one_source in (source, *others)}) == 3


def test_a_likeness_beyond_the_scale_is_named_with_its_split(tmp_path):
    for name, label in (("train", "4"), ("dev", "5.5")):
        (tmp_path / f"{name}.tsv").write_text(f"text\tb\tlabel\nx\ty\t1\nlong text\ty\t{label}\n")
    train, dev = (str(tmp_path / f"{name}.tsv") for name in ("train", "dev"))
    source = TableSource(train, second_text="b", task="embedding", scale=5.0)
    source.check()
    message = r"^validation: the label of 'long text' must be at most examples\.scale, 5, got 5\.5$"
    with pytest.raises(InputError, match=message):
        dataclasses.replace(source, validation=dev).check()
    (tmp_path / "dev.tsv").write_text("text\tb\tlabel\nx\ty\thigh\n")
    with pytest.raises(InputError, match=r"dev\.tsv line 2: column 'label' must be a finite number, got 'high'"):
        dataclasses.replace(source, validation=dev).check()


def test_rows_keep_the_columns_that_are_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,from\na,0,web\nb,1,\nb,1,mail\n")
    (tmp_path / "b.jsonl").write_text('{"text": "z", "label": 1, "from": null}\n{"text": "a", "label": 0, "from": 7}\n')
    table, kept = str(tmp_path / "a.csv"), KeptColumns(test=("from",))
    source = TableSource(table, test=str(tmp_path / "b.jsonl"))
    splits = source.splits(kept)
    assert [row.origin for row in splits["train"]] == [RowOrigin(), RowOrigin(), RowOrigin()], "origins do not count"
    assert [row.origin.location for row in splits["train"]] == ["a.csv line 2", "a.csv line 3", "a.csv line 4"]
    assert [row.origin.columns for row in splits["train"]] == [{}, {}, {}]
    assert [row.origin.columns for row in splits["test"]] == [{"from": ""}, {"from": "7"}]
    # Without a table of their own, test rows are taken from those of training.
    alone = TableSource(table).splits(kept)["train"]
    assert [row.origin.columns["from"] for row in alone] == ["web", "", "mail"]
    whole = TableSource(table).splits(KeptColumns(all_of_train=True))["train"][2]
    assert whole.origin.columns == {"text": "b", "label": "1", "from": "mail"}
    with pytest.raises(MissingColumnError, match=r"a\.csv has no column 'form'; did you mean 'from'\?") as error:
        TableSource(table).splits(KeptColumns(test=("form",)))
    assert error.value.column == "form"


def test_files_are_read_once_while_they_stay_as_they_are(tmp_path, opened):
    file = str(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("text,label,from\na,0,web\nb,1,\n")
    source, kept = TableSource(file), KeptColumns(test=("from",))
    source.check()
    assert source.splits()["train"] == [TextRow("a", "0"), TextRow("b", "1")]
    assert opened == [file]
    source.splits()["train"].clear()
    pickled = pickle.loads(pickle.dumps(source))
    assert pickled == source
    assert pickled.splits()["train"] == [TextRow("a", "0"), TextRow("b", "1")]
    assert opened == [file]
    source.splits(kept)
    assert source.splits()["train"][0].origin.columns == {"from": "web"}
    assert opened == [file] * 2
    (tmp_path / "a.csv").write_text("text,label,from\nc,0,web\nb,1,\n")
    assert [other.splits(kept)["train"][0].text for other in (source, pickled)] == ["c", "c"]
    assert opened == [file] * 4
