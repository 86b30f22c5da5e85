"""The table and the decision, of models of a tiny job."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keras_bert
from components.artifacts.blessing import Blessing
from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.dsl.errors import InputError
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.scoring.blessing import Thresholds
from components.scoring.registry import TASK_SCORING
from tests.components import tuning_job


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


@pytest.mark.parametrize("task", ["classification", "token_classification"])
def test_labels_of_the_shipped_file_are_calibrated_on_validation_rows(tmp_path, line, task):
    from keras_bert.export.bundle import load_exported
    from keras_bert.metrics.calibration import calibration_error, find_temperature, probabilities

    own = line(task)
    found, _ = run(tmp_path, own, edges=[own.edge], thresholds=Thresholds(min_precision=0.5), baselines=False)
    told, file = found["calibration"], load_exported(own.edge.path)
    scoring, labels = TASK_SCORING[task], list(file.labels)
    for split in ("validation", "test"):
        logits, truth = scoring.logits(file, read_rows(own.examples, split))
        numbers = np.array([labels.index(label) for label in truth])
        if split == "validation":
            assert told["temperature"] == find_temperature(logits, numbers)
        for place, temperature in enumerate((1.0, told["temperature"] or 1.0)):
            shares = probabilities(logits, temperature)
            expected = calibration_error(shares.max(axis=1), shares.argmax(axis=1) == numbers)
            assert told[split]["calibration_error"][place] == pytest.approx(expected)
        assert told[split]["rows"] == len(logits)
        assert 0 < told[split]["kept"]["share"] <= 1
    assert told["validation"]["kept"]["precision"] >= 0.5


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_the_worst_answers_of_the_shipped_model_are_kept(tmp_path, line, task):
    own = line(task)
    found, _ = run(tmp_path, own, baselines=False)
    told = json.loads((tmp_path / "evaluation" / "answers.json").read_text())
    mistakes = told["mistakes"]
    assert told["reliability"] is None, "no file is shipped"
    assert mistakes["asked"] == found["rows"]["test"]
    if task == "classification":
        assert mistakes["wrong"] == round((1 - found["models"]["teacher"]["metrics"]["accuracy"]["mean"]) * 4)
        assert [row["value"] for row in mistakes["rows"]] == [None] * mistakes["wrong"]
    if task in ("regression", "embedding"):
        values = [row["value"] for row in mistakes["rows"]]
        assert values == sorted(values, reverse=True)
        assert len(values) == mistakes["asked"]


def test_of_a_shipped_file_the_most_confident_mistakes_come_first(tmp_path, line):
    own = line("classification")
    found, _ = run(tmp_path, own, edges=[own.edge], baselines=False)
    told = json.loads((tmp_path / "evaluation" / "answers.json").read_text())
    for side in ("before", "after"):
        bins = [each for each in told["reliability"][side] if each]
        assert sum(each["rows"] for each in bins) == found["rows"]["test"]
        right = sum(each["rows"] * each["accuracy"] for each in bins) / found["rows"]["test"]
        assert right == pytest.approx(found["models"][found["shipped"]]["metrics"]["accuracy"]["mean"])
    assert all(0.5 <= row["value"] <= 1 for row in told["mistakes"]["rows"])


def test_models_and_numbers_are_not_calibrated(tmp_path, line):
    assert run(tmp_path / "model", line("classification"), baselines=False)[0]["calibration"] is None
    own = line("regression")
    assert run(tmp_path / "number", own, edges=[own.edge], baselines=False)[0]["calibration"] is None
    with pytest.raises(InputError, match="min_precision must be left out but for classification"):
        run(tmp_path / "asked", own, edges=[own.edge], thresholds=Thresholds(min_precision=0.9))
