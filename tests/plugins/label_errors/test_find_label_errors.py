"""Wrong labels: planted ones come first with their places, and the table is read as a training table."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.artifacts.standard import LabelledRows, RowOrigins
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS, read_rows, write_origins, write_rows
from components.files.csv_files import csv_line
from components.sources.label_sets import LabelSetSource
from components.sources.shared import KeptColumns
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource
from keras_bert.data.records import read_features
from plugins.label_errors.artifacts import HeldOutProbabilities, LabelDecisions, LabelErrors
from plugins.label_errors.find_label_errors import find_label_errors
from plugins.label_errors.search import LabelErrorSearch
from tests.components import tuning_job
from tests.components.labelled_rows import origins_of, read_source_rows


def judge(folder, line, source, decisions, **search):
    scored, label_errors = HeldOutProbabilities(folder / "scored"), LabelErrors(folder / "errors")
    scored.path.mkdir(parents=True)
    scored.write(decisions)
    scored.seal({})
    rows, origins = place(folder / "rows", line, source)
    find_label_errors.run(
        rows=rows, origins=origins, probabilities=scored, label_errors=label_errors, source=source,
        search=LabelErrorSearch(**search),
    )  # fmt: skip
    return label_errors


def place(folder, line, source):
    """The training rows of examples, with the places that equal rows have in the files of a source."""
    kept = KeptColumns(all_of_train=True)
    read = read_source_rows(folder / "read", source, kept=kept)
    rows, origins = LabelledRows(folder / "placed"), RowOrigins(folder / "placed-origins")
    origin_of_row = {row: row.origin for row in source.splits(kept)["train"]}
    train = [row._replace(origin=origin_of_row[row]) for row in read_rows(line.examples, "train")]
    for artifact in (rows, origins):
        artifact.path.mkdir(parents=True)
    write_rows(rows.file("train.jsonl.gz"), TASK_ROWS[source.task], train)
    write_origins(origins.file("train.jsonl.gz"), train)
    rows.write(read.read())
    origins.write(origins_of(read).read())
    for artifact in (rows, origins):
        artifact.seal({})
    return rows, origins


def decide(given, classes, wrong):
    """Decisions (row, place, class) that are sure of the given class, but for those in `wrong`, of another."""
    rows, places, numbers = np.array(given).T
    shares = np.full((len(rows), classes), 0.1 / (classes - 1))
    for place, (row, where, number) in enumerate(given):
        shares[place, wrong.get((row, where), number)] = 0.9 - 0.001 * row
    return LabelDecisions(rows, places, numbers, (shares / shares.sum(axis=1, keepdims=True)).astype("float32"))


def test_planted_wrong_labels_come_first_with_their_places(line, tmp_path):
    made = line("classification")
    rows = read_rows(made.examples, "train")
    source = tuning_job.write_rows(tmp_path, "classification")
    given = [(number, 0, int(row.label == "plant")) for number, row in enumerate(rows)]
    wrong = {(3, 0): 1 - given[3][2], (7, 0): 1 - given[7][2]}
    label_errors = judge(tmp_path, made, source, decide(given, 2, wrong))
    report = label_errors.read()
    assert (report.task, report.rows, report.errors, report.folds) == ("classification", len(rows), 2, 5)
    assert {(pair.given, pair.suggested) for pair in report.pairs} <= {("animal", "plant"), ("plant", "animal")}
    assert [mistake["texts"] for mistake in report.mistakes["rows"]] == [[rows[number].text] for number in (3, 7)]
    with label_errors.file(label_errors.table).open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [line["row"] for line in table[:2]] == ["3", "7"]
    assert [line["likely_wrong"] for line in table] == ["yes"] * 2 + ["no"] * (len(rows) - 2)
    assert [float(line["score"]) for line in table[2:]] == sorted(float(line["score"]) for line in table[2:])
    lines = Path(source.train).read_text().split("\n")
    for record in table:
        row, is_wrong = rows[int(record["row"])], record["likely_wrong"] == "yes"
        assert record["suggested"] == ({"animal": "plant", "plant": "animal"}[row.label] if is_wrong else "")
        number = int(record["source"].removeprefix("classification.tsv line "))
        assert lines[number - 1] == f"{row.text}\t{row.label}"
    # The table is a training table, whose columns are those of the source.
    file = str(label_errors.file(label_errors.table))
    assert sorted(TableSource(file).read(file)) == sorted(rows)


def test_tables_of_several_labels_and_of_tags_are_read_again(line, tmp_path):
    made = line("multi_label")
    rows, source = read_rows(made.examples, "train"), tuning_job.write_rows(tmp_path, "multi_label")
    labels = ["animal", "plant"]
    given = [
        (number, place, int(label in row.labels))
        for number, row in enumerate(rows)
        for place, label in enumerate(labels)
    ]
    flips = {(number, place): 1 - value for number, place, value in given if number in (2, 9) and place == 1}
    label_errors = judge(tmp_path / "sets", made, source, decide(given, 2, flips))
    file = str(label_errors.file("label_errors.jsonl"))
    table = [json.loads(text) for text in Path(file).read_text().splitlines()]
    assert [record["row"] for record in table[:2]] == [2, 9]
    assert table[2]["likely_wrong"] == "no"
    for record in table[:2]:
        assert ("plant" in record["suggested"]) != ("plant" in record["label"])
    assert sorted(LabelSetSource(file).read(file)) == sorted(rows)
    assert {pair.given.partition(":")[0] for pair in label_errors.read().pairs} == {"plant"}
    made = line("token_classification")
    rows, source = read_rows(made.examples, "train"), tuning_job.write_rows(tmp_path, "token_classification")
    tags = read_features(made.examples.path)["settings"]["labels"]
    given = [(number, place, tags.index(tag)) for number, row in enumerate(rows) for place, tag in enumerate(row.tags)]
    word = next(place for place, tag in enumerate(rows[4].tags) if tag == "O")
    label_errors = judge(tmp_path / "tags", made, source, decide(given, len(tags), {(4, word): tags.index("B-animal")}))
    file = str(label_errors.file("label_errors.jsonl"))
    first = json.loads(Path(file).read_text().splitlines()[0])
    assert (first["row"], first["suggested"].split()[word], first["tags"][word]) == (4, "B-animal", "O")
    assert sorted(SentenceSource(file).read(file)) == sorted(rows)
    number = int(first["source"].removeprefix("sentences.conll line "))
    assert Path(source.train).read_text().split("\n")[number - 1].split()[0] == rows[4].words[0]
    assert label_errors.read().mistakes["rows"][0]["words"][word] == [rows[4].words[word], "O", "B-animal"]


def test_tables_of_lists_keep_their_other_columns(line, tmp_path):
    tags = read_features(line("token_classification").examples.path)["settings"]["labels"]
    for task, source in (
        ("multi_label", LabelSetSource(str(tmp_path / "multi_label.jsonl"))),
        ("token_classification", SentenceSource(str(tmp_path / "token_classification.jsonl"))),
    ):
        made, file = line(task), tmp_path / f"{task}.jsonl"
        rows = read_rows(made.examples, "train")
        records = [{"id": number, **source.record(row), "likely": None} for number, row in enumerate(rows)]
        file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        given = [
            (number, place, int(tags.index(row.tags[place]) if task != "multi_label" else label in row.labels))
            for number, row in enumerate(rows)
            for place, label in enumerate(["animal", "plant"] if task == "multi_label" else row.words)
        ]
        label_errors = judge(
            tmp_path / task, made, source, decide(given, len(tags) if task != "multi_label" else 2, {})
        )
        for text in label_errors.file("label_errors.jsonl").read_text().splitlines():
            written = json.loads(text)
            expected = {**records[written["row"]], "id": str(written["row"]), "likely": ""}
            assert written | expected == written
            assert written["source"] == f"{file.name} line {written['row'] + 1}"


@pytest.mark.parametrize(
    ("text", "label", "added"),
    [
        ("source", "score", "likely_wrong,suggested,score_,row,source_"),
        ("score_", "score", "likely_wrong,suggested,score__,row,source"),
    ],
)
def test_columns_of_the_judgement_do_not_replace_those_of_the_rows(line, tmp_path, text, label, added):
    made = line("classification")
    rows = read_rows(made.examples, "train")
    (tmp_path / "rows.csv").write_text(f"{text},{label}\n" + "".join(f"{row.text},{row.label}\n" for row in rows))
    source = TableSource(str(tmp_path / "rows.csv"), text=text, label=label)
    given = [(number, 0, int(row.label == "plant")) for number, row in enumerate(rows)]
    label_errors = judge(tmp_path, made, source, decide(given, 2, {}))
    header, first = label_errors.file("label_errors.csv").read_text().split("\n")[:2]
    assert header == f"{text},{label},{added}"
    assert TextRow(*first.split(",")[:2]) in rows
    assert label_errors.read().errors == 0


def test_the_table_has_all_columns_and_is_read_again_to_the_character(line, tmp_path):
    made = line("classification")
    rows = read_rows(made.examples, "train")
    # White space and case are the tokenizer's affair: the rows of the job stand in a table of other columns.
    cells = ["a\r\nb", "=1+1", "'@x", "-", "-2.5", ""]
    table = [("from, where", "text", "@id", "label"), *((cells[n % 6], r.text, n, r.label) for n, r in enumerate(rows))]
    (tmp_path / "rows.csv").write_bytes("".join(map(csv_line, table)).encode())
    source = TableSource(str(tmp_path / "rows.csv"))
    given = [(number, 0, int(row.label == "plant")) for number, row in enumerate(rows)]
    label_errors = judge(tmp_path, made, source, decide(given, 2, {(3, 0): 1 - given[3][2]}))
    file = label_errors.file("label_errors.csv")
    with file.open(newline="", encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    assert list(records[0])[:4] == ["from, where", "text", "'@id", "label"]
    assert (records[0]["row"], records[0]["'@id"], records[0]["from, where"]) == ("3", "3", "-")
    assert {record["from, where"] for record in records} == {"a\r\nb", "'=1+1", "''@x", "-", "-2.5", ""}
    corrected = TableSource(str(file))
    assert sorted(corrected.read(str(file))) == sorted(rows)
    expected = [cells[number % 6].strip() or "(empty)" for number in range(len(rows))]
    kept = corrected.splits(KeptColumns(test=("from, where", "@id")))["train"]
    columns = {row: row.origin.columns for row in kept}
    assert [columns[row]["from, where"].strip() or "(empty)" for row in rows] == expected
    assert [columns[row]["@id"] for row in rows] == [str(number) for number in range(len(rows))]


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
def test_further_columns_of_other_types_are_texts(tmp_path, kind):
    rows = [{"text": "a", "label": "x", "n": 1, "l": ["é"]}, {"text": "b", "label": "y", "n": None, "l": None}]
    file = tmp_path / f"rows{kind}"
    if kind == ".jsonl":
        del rows[1]["n"], rows[1]["l"]
        file.write_text("\n".join(map(json.dumps, rows)))
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    unit = "line" if kind == ".jsonl" else "row"
    train = TableSource(str(file)).splits(KeptColumns(all_of_train=True))["train"]
    first, second = (row.origin for row in train)
    assert (first.location, second.location) == (f"rows{kind} {unit} 1", f"rows{kind} {unit} 2")
    assert first.columns == {"text": "a", "label": "x", "n": "1", "l": '["é"]'}
    assert second.columns == ({"text": "b", "label": "y"} if kind == ".jsonl" else {**second.columns, "n": "", "l": ""})


def test_a_column_that_cannot_be_text_is_refused(tmp_path):
    table = pa.table({"text": ["a"], "label": ["x"], "at": pa.array([1], pa.timestamp("us", "Mars/Base"))})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=r"rows\.parquet must be a whole \.parquet file, got after row 0: 'Mars/B"):
        TableSource(str(tmp_path / "rows.parquet")).splits(KeptColumns(all_of_train=True))


def test_damaged_probabilities_are_refused_in_one_line(tmp_path):
    scored = HeldOutProbabilities(tmp_path)
    scored.write(decide([(0, 0, 1), (1, 0, 0)], 2, {}))
    file = tmp_path / "probabilities.npz"
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"\0" + content[101:-40])
    with pytest.raises(ValueError, match=r"probabilities.npz must hold the probabilities of held-out rows, got"):
        scored.read()
