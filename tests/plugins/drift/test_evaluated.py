"""Rows that a model was evaluated on, beside what the evaluation keeps of them: nothing differs."""

import json
import shutil

import pytest

from components.examples.registry import read_rows
from plugins.drift.confidences import compare_confidences
from plugins.drift.vectors import compare_vectors
from tests.components.test_evaluate import run
from tests.samples import long_but


@pytest.mark.parametrize("task", long_but(["classification"], ["classification", "token_classification"]))
def test_validation_rows_are_like_themselves(tmp_path, line, task, monkeypatch):
    monkeypatch.setattr("components.scoring.calibration.FEWEST_ROWS", 1)
    for name in ("_FEWEST_ROWS", "_FOLDS"):
        monkeypatch.setattr(f"plugins.drift.vectors.{name}", 2)
    artifacts, pushed = line(task), tmp_path / "pushed"
    run(tmp_path, artifacts, edges=[artifacts.edge], baselines=False)
    shutil.copytree(artifacts.edge.path, pushed)
    shutil.copy(tmp_path / "evaluation" / "metrics.json", pushed)
    rows = read_rows(artifacts.examples, "validation")
    (same,) = compare_confidences(pushed, rows)
    assert same.measure.startswith("PSI 0.000 of ")
    vectors = json.loads((tmp_path / "evaluation" / "vectors.json").read_text())
    (same,) = compare_vectors(vectors, pushed, rows)
    assert (same.expected, same.got, same.differs) == (f"{len(rows)} rows", f"{len(rows)} rows", False)
    assert compare_vectors("", pushed, rows) == []
