"""A table is parsed once in a run, whatever checks and steps need of it, and rows keep their file and line."""

import csv
import pickle

from components.artifacts.standard import LabelledRows, RowOrigins, TaskExamples, Vocabulary
from components.dsl.canonical import FileSource
from components.examples.registry import read_labelled_rows, read_origins, read_rows
from components.ingest_examples import ingest_examples
from components.scoring.slices import column_values
from pipeline.job.checks import check_data
from pipeline.pipelines import build_pipeline
from pipeline.workload import list_trainings
from tests.pipeline.test_workload import load_job

TOPICS = ("food", "staff", "rooms")


def test_slices_and_a_schema_need_one_parse(tmp_path, opened):
    table = tmp_path / "sliced.csv"
    tables = {
        "examples": {"train": str(table), "text": "review", "label": "kind"},
        "evaluation": {"slice_columns": ["topic"]},
        "fitted_vocabulary.size": 60,
    }
    settings = load_job(tmp_path, **tables)
    with (tmp_path / "reviews.csv").open(newline="") as stream:
        reviews = list(csv.DictReader(stream))
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*reviews[0], "topic"])
        writer.writeheader()
        writer.writerows({**review, "topic": TOPICS[number % 3]} for number, review in enumerate(reviews))
    lines = table.read_text().splitlines()

    check_data(settings)
    assert list_trainings(settings) is not None
    nodes = {node.name: node for node in build_pipeline(settings, tmp_path / "runs").nodes}
    # A step runs in a process of its own, to which its arguments are pickled.
    values = {name: pickle.loads(pickle.dumps(node.values)) for name, node in nodes.items()}
    rows, origins = LabelledRows(tmp_path / "rows"), RowOrigins(tmp_path / "origins")
    nodes["read_examples"].component.run(rows=rows, origins=origins, **values["read_examples"])
    vocabulary = Vocabulary(tmp_path / "vocabulary")
    vocabulary.path.mkdir()
    settings.checkpoint.tokenizer().save(vocabulary.path)
    vocabulary.seal({})
    for name in ("ingest_examples-whole", "ingest_examples"):
        examples = TaskExamples(tmp_path / name)
        ingest_examples.run(vocabulary=vocabulary, rows=rows, examples=examples, **values[name])
        assert (examples.path / "schema.json").is_file()
    train, test = (read_labelled_rows(rows, split) for split in ("train", "test"))
    assert train == read_rows(examples, "train")

    assert [file for file in opened if file == str(table)] == [str(table)]
    readers = {
        name for name, node in nodes.items() if any(isinstance(value, FileSource) for value in node.values.values())
    }
    assert readers == {"import_checkpoint", "read_examples"}
    for split, split_rows in (("train", train), ("test", test)):
        for row, origin in zip(split_rows, read_origins(origins, split), strict=True):
            name, _, number = origin.location.partition(" line ")
            assert (name, row.text in lines[int(number) - 1]) == ("sliced.csv", True)
    placed = read_origins(origins, "test")
    for origin, topic in zip(placed, column_values(["topic"], placed)["topic"], strict=True):
        assert lines[int(origin.location.split()[-1]) - 1].endswith(f",{topic}")
