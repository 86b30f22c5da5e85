"""The table and the decision, of models of a tiny job."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import pytest

import keras_bert
from components.artifacts.blessing import Blessing
from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.dsl.errors import InputError
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.scoring.blessing import Thresholds


def run(folder: Path, line: Any, **given: Any) -> tuple[dict, dict]:
    """What `metrics.json` and `blessing.json` say."""
    evaluation, blessing = Evaluation(folder / "evaluation"), Blessing(folder / "blessing")
    wanted = {"teachers": [line.teacher], "students": [], "edges": [], **given}
    evaluate(examples=line.examples, evaluation=evaluation, blessing=blessing, **wanted)
    return (
        json.loads(evaluation.file("metrics.json").read_text()),
        json.loads(blessing.file("blessing.json").read_text()),
    )


def pushed(folder: Path, files: Path) -> Pushed:
    """As if these files had been pushed."""
    made = Pushed(folder / "pushed")
    made.path.mkdir()
    made.file("pushed.json").write_text(json.dumps({"path": str(files), "files": {}}))
    made.seal({})
    return made


def accuracy(line: Any, model: Any, split: str) -> float:
    rows = read_rows(line.examples, split)
    answers = keras_bert.load(model.path).predict([row.text for row in rows])
    return statistics.fmean(row.label == answer.label for row, answer in zip(rows, answers, strict=True))


def test_every_seed_is_measured_and_validation_rows_choose_one(tmp_path, line):
    own = line("classification")
    seeds = [own.lopsided, own.teacher]
    found, decision = run(tmp_path, own, teachers=seeds)
    row = found["models"]["teacher"]["metrics"]["accuracy"]
    assert row["seeds"] == pytest.approx([accuracy(own, model, "test") for model in seeds])
    assert (row["mean"], row["sd"]) == pytest.approx((statistics.fmean(row["seeds"]), statistics.stdev(row["seeds"])))
    validation = [accuracy(own, model, "validation") for model in seeds]
    assert validation[1] > validation[0]
    assert found["validation"]["accuracy"]["seeds"] == pytest.approx(validation)
    assert (found["kept"], found["shipped"], found["metric"]) == (1, "teacher", "accuracy")
    assert list(found["models"]) == ["majority class", "bag of n-grams", "teacher"]
    assert sum(map(sum, found["confusion"])) == found["rows"]["test"]
    assert decision["blessed"] is (row["mean"] > found["models"]["majority class"]["metrics"]["accuracy"]["mean"])


def test_files_and_the_version_before_stand_beside_the_models(tmp_path, line):
    own = line("classification")
    before = pushed(tmp_path, own.edge.path)
    found, decision = run(tmp_path, own, students=[own.student], edges=[own.edge], previous=before)
    models = found["models"]
    files = ["tflite float32", "tflite int8", "onnx float32"]
    assert list(models) == ["majority class", "bag of n-grams", "teacher", "student", *files, "pushed before"]
    assert found["shipped"] == "tflite int8"
    assert models["pushed before"]["metrics"] == models["tflite int8"]["metrics"]
    for name, file in (("tflite int8", "model.tflite"), ("onnx float32", "model.onnx")):
        assert models[name]["megabytes"] == own.edge.file(file).stat().st_size / 1e6
        assert models[name]["milliseconds"] > 0
    assert any("the version before's" in reason for reason in decision["reasons"])


def test_a_version_with_other_labels_is_not_compared(tmp_path, line):
    own = line("classification")
    files = Path(shutil.copytree(own.edge.path, tmp_path / "edge"))
    settings = json.loads((files / "task.json").read_text())
    (files / "task.json").write_text(json.dumps(settings | {"labels": ["no", "yes"]}))
    before = pushed(tmp_path, files)
    found, decision = run(tmp_path, own, previous=before)
    assert "pushed before" not in found["models"]
    assert decision["reasons"][-1].startswith("not compared: the version before, ")


def test_the_metric_is_one_of_the_task(tmp_path, line):
    with pytest.raises(InputError, match=r"metric must be one of .*, got 'spearman'"):
        run(tmp_path, line("classification"), thresholds=Thresholds(metric="spearman"))
