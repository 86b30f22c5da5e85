"""The table of likely errors has the user's columns and lines; the user's table is parsed once for all steps."""

import csv
import pickle

import numpy as np

from components.artifacts.standard import LabelledRows, RowOrigins
from components.dsl.canonical import FileSource
from components.examples.registry import read_labelled_rows
from pipeline.job.checks import check_data
from pipeline.pipelines import build_pipeline
from pipeline.workload import list_trainings
from plugins.label_errors.artifacts import HeldOutProbabilities, LabelDecisions, LabelErrors
from tests.pipeline.test_workload import load_job


def test_likely_errors_are_found_in_rows_that_were_read(tmp_path, opened):
    settings = load_job(tmp_path, label_errors={"folds": 2}, evaluation={"slice_columns": ["kind"]})
    table = tmp_path / "reviews.csv"
    lines = table.read_text().splitlines()
    check_data(settings)
    assert list_trainings(settings) is not None
    nodes = {node.name: node for node in build_pipeline(settings, tmp_path / "runs").nodes}
    # A step runs in a process of its own, to which its arguments are pickled.
    values = {name: pickle.loads(pickle.dumps(nodes[name].values)) for name in ("read_examples", "find_label_errors")}
    rows, origins = LabelledRows(tmp_path / "rows"), RowOrigins(tmp_path / "origins")
    nodes["read_examples"].component.run(rows=rows, origins=origins, **values["read_examples"])
    train = read_labelled_rows(rows, "train")
    label_errors, probabilities = LabelErrors(tmp_path / "errors"), HeldOutProbabilities(tmp_path / "scored")
    probabilities.path.mkdir()
    count, sure = len(train), np.array([0.9, 0.1], "float32")
    given = np.array([row.label != min(row.label for row in train) for row in train], int)
    shares = np.stack([sure[::-1] if number else sure for number in given])
    probabilities.write(LabelDecisions(np.arange(count), np.zeros(count, int), given, shares))
    probabilities.seal({})
    nodes["find_label_errors"].component.run(
        rows=rows,
        origins=origins,
        probabilities=probabilities,
        label_errors=label_errors,
        **values["find_label_errors"],
    )
    assert [file for file in opened if file == str(table)] == [str(table)]
    assert any(isinstance(value, FileSource) for value in nodes["find_label_errors"].values.values())
    with label_errors.file(label_errors.table).open(newline="") as stream:
        for record in csv.DictReader(stream):
            assert record["review"] in lines[int(record["source"].split()[-1]) - 1]
