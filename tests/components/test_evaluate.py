"""The table and the decision, of models of a tiny job."""

import json
import os
import shutil
import statistics
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from components.artifacts.evaluation import (
    Blessing,
    Decision,
    Evaluation,
    FurtherModels,
    FurtherRows,
    MeasuredModel,
    SeedScores,
)
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.push import push
from components.scoring.blessing import Thresholds
from components.scoring.engines import EngineScore
from components.scoring.registry import TASK_SCORING
from components.sources.pushed_version import PushedVersion
from components.sources.shared import KeptColumns
from components.sources.table import TableSource
from components.training.model_folder import FROZEN_HEAD_FILE
from keras_bert.data.records import read_features
from keras_bert.export.attachments import attach_entries
from keras_bert.training.new_head import FittedHead
from tests.components import tuning_job
from tests.components.labelled_rows import origins_of, read_source_rows
from tests.samples import long_but


def run(folder, line, **given):
    """What `metrics.json` and `blessing.json` say."""
    evaluation, blessing = Evaluation(folder / "evaluation"), Blessing(folder / "blessing")
    arguments = {"teachers": given.get("teachers") or [line.teacher], "students": [], "edges": [], **given}
    with tuning_job.eagerly():
        evaluate.run(examples=line.examples, evaluation=evaluation, blessing=blessing, **arguments)
    return (
        json.loads(evaluation.file("metrics.json").read_text()),
        json.loads(blessing.file("blessing.json").read_text()),
    )


def accuracy(line, model, split):
    rows = read_rows(line.examples, split)
    answers = keras_bert.load(model.path).predict([row.text for row in rows])
    return statistics.fmean(row.label == answer.label for row, answer in zip(rows, answers, strict=True))


def test_every_seed_is_measured_and_validation_rows_choose_one(tmp_path, line):
    artifacts = line("classification")
    seeds = [artifacts.lopsided, artifacts.teacher]
    evaluation, decision = run(tmp_path, artifacts, teachers=seeds)
    row = evaluation["models"]["teacher"]["metrics"]["accuracy"]
    assert row["seeds"] == pytest.approx([accuracy(artifacts, model, "test") for model in seeds])
    assert (row["mean"], row["sd"]) == pytest.approx((statistics.fmean(row["seeds"]), statistics.stdev(row["seeds"])))
    validation = [accuracy(artifacts, model, "validation") for model in seeds]
    assert validation[1] > validation[0]
    assert evaluation["validation"]["accuracy"]["seeds"] == pytest.approx(validation)
    assert (evaluation["kept"], evaluation["shipped"], evaluation["metric"]) == (1, "teacher", "accuracy")
    assert list(evaluation["models"]) == ["majority class", "bag of n-grams", "teacher"]
    assert sum(map(sum, evaluation["confusion"])) == evaluation["rows"]["test"]
    majority, ngrams, teacher = (model["metrics"]["accuracy"]["mean"] for model in evaluation["models"].values())
    assert decision["blessed"] is (teacher > majority and teacher >= ngrams)


def test_files_and_the_version_before_stand_beside_the_models(tmp_path, line, monkeypatch):
    reports = []
    monkeypatch.setattr("components.scoring.scorer.report_progress", lambda *report: reports.append(report))
    artifacts = line("classification")
    before = PushedVersion(str(artifacts.edge.path))
    evaluation, decision = run(
        tmp_path, artifacts, students=[artifacts.student], edges=[artifacts.edge], previous=before
    )
    models = evaluation["models"]
    files = ["tflite float32", "tflite int8", "onnx float32"]
    assert list(models) == ["majority class", "bag of n-grams", "teacher", "student", *files, "pushed before"]
    assert evaluation["shipped"] == "tflite int8"
    assert models["pushed before"]["metrics"] == models["tflite int8"]["metrics"]
    for name, file in (("tflite int8", "model.tflite"), ("onnx float32", "model.onnx")):
        assert models[name]["megabytes"] > artifacts.edge.file(file).stat().st_size / 1e6
        assert models[name]["milliseconds"] > 0
    assert any("the version before's" in reason for reason in decision["reasons"])
    # Work is counted in answered rows; what comes last is the version before, on the test rows.
    done, total, note = reports[-1]
    assert (note, total - done) == ("pushed before", evaluation["rows"]["test"])
    starts = {note: done for done, _, note in reports}
    assert starts["timing student"] - starts["timing teacher"] == 2 * 3 * evaluation["rows"]["test"]


def test_the_head_on_the_encoder_before_fine_tuning_is_a_baseline_that_only_warns(tmp_path, line):
    artifacts, teacher = line("classification"), Model(tmp_path / "teacher")
    shutil.copytree(artifacts.lopsided.path, teacher.path)
    trained = keras_bert.load(artifacts.teacher.path)
    weights = {weight.path: weight.numpy() for weight in trained.model.weights}
    FittedHead(weights, 10, 0.5, is_kept=True).save(teacher.file(FROZEN_HEAD_FILE))
    given = {"teachers": [teacher], "checkpoint": artifacts.pretrained, "baselines": False}
    evaluation, decision = run(tmp_path, artifacts, **given)
    scores = {name: model["metrics"]["accuracy"]["mean"] for name, model in evaluation["models"].items()}
    assert scores["frozen encoder"] == pytest.approx(accuracy(artifacts, artifacts.teacher, "test"))
    assert scores["frozen encoder"] > scores["teacher"]
    assert not any("frozen encoder" in reason for reason in decision["reasons"])
    assert any("of the baseline frozen encoder" in warning for warning in decision["warnings"])
    # Other heads than fitted ones have no such row.
    given["teachers"] = [artifacts.teacher]
    assert "frozen encoder" not in run(tmp_path / "plain", artifacts, **given)[0]["models"]


def test_the_head_on_the_encoder_before_fine_tuning_has_thresholds_of_its_own(tmp_path, line):
    """It had those of the fine-tuned teacher, which suit other probabilities."""
    artifacts, teacher = line("multi_label"), Model(tmp_path / "teacher")
    shutil.copytree(artifacts.teacher.path, teacher.path)
    task = keras_bert.load(teacher.path)
    weights = {weight.path: weight.numpy() for weight in task.model.weights}
    FittedHead(weights, 10, 0.5, is_kept=True).save(teacher.file(FROZEN_HEAD_FILE))
    task.thresholds = [None] * len(task.labels)
    task.save_settings(teacher.path)
    given = {"teachers": [teacher], "checkpoint": artifacts.pretrained, "baselines": False}
    models = run(tmp_path, artifacts, **given)[0]["models"]
    scores = {name: model["metrics"]["micro_f1"]["mean"] for name, model in models.items()}
    assert scores["frozen encoder"] > 0.5 > scores["teacher"] == 0


def test_engines_that_files_were_compiled_for_are_asked(tmp_path, line, monkeypatch):
    artifacts, edge, calls = line("classification"), EdgeModel(tmp_path / "edge"), []
    shutil.copytree(artifacts.edge.path, edge.path)
    edge.file("accelerators").mkdir()
    edge.file("accelerators/coverage.json").write_text('{"gpu": {}}')
    model = MeasuredModel(SeedScores.table([{"accuracy": 0.5}]))

    def score(scorer, of, shipped, source, rows, metrics):
        calls.append((of, shipped[0], shipped[1].file.name, source[0], len(rows), metrics))
        return {"int8 on GPU, 3 rows": EngineScore({"student": model}, model, {})}

    monkeypatch.setattr("components.evaluate.score_engines", score)
    given = {"students": [artifacts.student], "edges": [edge]}
    evaluation, decision = run(tmp_path, artifacts, **given, thresholds=Thresholds(accelerator_rows=3))
    assert calls == [(edge, "tflite int8", "model.tflite", "student", 3, ["accuracy"])]
    assert evaluation["models"]["int8 on GPU, 3 rows"] == {
        "metrics": {"accuracy": {"mean": 0.5, "sd": None, "seeds": [0.5]}}
    }
    assert any("int8 on GPU, 3 rows accuracy 50.00 must be at least" in reason for reason in decision["reasons"])


def test_sizes_are_those_of_the_pushed_files(tmp_path, line):
    artifacts = line("classification")
    bare = artifacts.edge.file("model.tflite").stat().st_size / 1e6
    thresholds = Thresholds(max_megabytes=bare + 0.0002, max_download_megabytes=0.0001)
    evaluation, decision = run(tmp_path, artifacts, edges=[artifacts.edge], thresholds=thresholds)
    (verdict,) = (reason for reason in decision["reasons"] if "max_megabytes" in reason)
    assert verdict.startswith("NO: "), "what is attached to a file counts"
    (verdict,) = (reason for reason in decision["reasons"] if "max_download_megabytes" in reason)
    assert verdict.startswith("NO: tflite int8 download_megabytes ")
    blessing, pushed = Blessing(tmp_path / "blessed"), Pushed(tmp_path / "pushed")
    blessing.path.mkdir()
    blessing.write(Decision(blessed=True, reasons=[]))
    blessing.seal({})
    push.run(
        edges=[artifacts.edge],
        evaluation=Evaluation(tmp_path / "evaluation"),
        blessing=blessing,
        examples=artifacts.examples,
        pushed=pushed,
        folder=str(tmp_path / "models"),
        name="reviews",
    )
    for name, file in (("tflite int8", "model.tflite"), ("onnx float32", "model.onnx")):
        content = (tmp_path / "models/1" / file).read_bytes()
        size, deflated = len(content), len(zlib.compress(content, 6))
        # The digest of the text of a pre-training, which this job has not, is counted.
        assert size <= 1e6 * evaluation["models"][name]["megabytes"] <= size + 120
        assert 1e6 * evaluation["models"][name]["download_megabytes"] == pytest.approx(deflated, abs=120)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [(["no", "yes"], ", knows another task or other labels"), (None, ", cannot be ")],
    ids=["other labels", "damaged"],
)
def test_a_version_with_other_labels_or_damage_is_not_compared(tmp_path, line, labels, reason):
    artifacts = line("classification")
    files = Path(shutil.copytree(artifacts.edge.path, tmp_path / "edge"))
    settings = json.loads((files / "task.json").read_text())
    (files / "task.json").write_text(json.dumps(settings | {"labels": labels}) if labels else "{")
    with zipfile.ZipFile(files / "model.tflite") as attached:
        start = min(entry.header_offset for entry in attached.infolist())
    os.truncate(files / "model.tflite", start)
    attach_entries(files / "model.tflite", {"task.json": (files / "task.json").read_bytes()})
    evaluation, decision = run(tmp_path, artifacts, previous=PushedVersion(str(files)))
    assert "pushed before" not in evaluation["models"]
    start = f"not compared: the version before, {tmp_path.name}/edge"
    assert decision["reasons"][-1].startswith(start + reason)


def test_a_baseline_that_cannot_learn_is_left_out_and_named(tmp_path, line, monkeypatch):
    def refuse(*_):
        raise ValueError("empty vocabulary;\nall words are too short")

    monkeypatch.setattr("components.scoring.classification.classify_by_ngrams", refuse)
    evaluation, _ = run(tmp_path, line("classification"))
    assert list(evaluation["models"]) == ["majority class", "teacher"]
    assert evaluation["left_out"] == {"bag of n-grams": "empty vocabulary; all words are too short"}


def test_a_model_below_a_baseline_is_refused(tmp_path, line, monkeypatch):
    artifacts = line("classification")
    truth = [row.label for row in read_rows(artifacts.examples, "test")]
    monkeypatch.setattr("components.scoring.classification.classify_by_ngrams", lambda *_: truth)
    evaluation, decision = run(tmp_path, artifacts, teachers=[artifacts.lopsided])
    assert evaluation["warnings"] == decision["warnings"]
    (refusal,) = (reason for reason in decision["reasons"] if "below_baseline" in reason)
    assert refusal.startswith("NO: teacher accuracy ")
    assert " is below 100.00 of the baseline bag of n-grams: difference -" in refusal


@pytest.mark.parametrize("leads", [True, False])
def test_losses_of_stages_are_warnings_and_causes(tmp_path, line, monkeypatch, leads):
    def describe(models, metric, shipped, changes, compare):
        return [f"{shipped}, {changes}: {compare('student', 'teacher', metric).difference:.3f} of {metric}"]

    monkeypatch.setattr("components.evaluate.describe_stage_losses", describe)
    monkeypatch.setattr("components.evaluate.describe_lost_share", lambda *_, **__: (leads, ""))
    monkeypatch.setattr("components.evaluate.find_causes", lambda *_: ["the teacher"])
    artifacts, changes = line("classification"), {"student": ["train longer"]}
    limits = Thresholds(max_milliseconds=1e-6)
    evaluation, decision = run(
        tmp_path, artifacts, students=[artifacts.student], changes=changes, thresholds=limits, baselines=False
    )
    scores = [accuracy(artifacts, model, "test") for model in (artifacts.student, artifacts.teacher)]
    warning = f"student, {changes}: {scores[0] - scores[1]:.3f} of accuracy"
    assert warning in evaluation["warnings"]
    assert evaluation["warnings"] == decision["warnings"]
    assert decision["causes"] == [warning, *([] if leads else ["the teacher"])]


@pytest.mark.parametrize(("further_limit", "causes"), [(False, ["a chip"]), (True, ["the teacher", "a chip"])])
def test_a_capability_names_the_cause_of_its_refusal(tmp_path, line, monkeypatch, further_limit, causes):
    monkeypatch.setattr("components.evaluate.find_causes", lambda *_: ["the teacher"])
    rows, rules = FurtherModels(tmp_path / "rows"), ("some rule", "another rule")
    rows.path.mkdir()
    rows.write(FurtherRows({}, [(False, rule) for rule in rules], dict.fromkeys(rules, "a chip")))
    rows.seal({})
    given = {"thresholds": Thresholds(max_milliseconds=1e-6)} if further_limit else {}
    _, decision = run(tmp_path, line("classification"), further=[rows], baselines=False, **given)
    assert [f"NO: {rule}" in decision["reasons"] for rule in rules] == [True, True]
    assert decision["causes"] == causes


def test_a_capability_chooses_the_seed(tmp_path, line):
    artifacts, rows = line("classification"), FurtherModels(tmp_path / "rows")
    rows.path.mkdir()
    rows.write(FurtherRows({}, kept=0))
    rows.seal({})
    seeds = [artifacts.lopsided, artifacts.teacher]
    evaluation, _ = run(tmp_path, artifacts, teachers=seeds, further=[rows], baselines=False)
    assert evaluation["kept"] == 0
    assert evaluation["validation"]["accuracy"]["seeds"][1] > evaluation["validation"]["accuracy"]["seeds"][0]


def test_questions_that_were_left_out_of_training_are_warned_of(tmp_path, line, monkeypatch):
    artifacts = line("question_answering")
    description = {**read_features(artifacts.examples.path), "left_out": {"train": 2, "validation": 0, "test": 1}}
    monkeypatch.setattr(TaskExamples, "features", lambda _: description)
    evaluation, decision = run(tmp_path, artifacts, teachers=[artifacts.blank])
    assert evaluation["warnings"] == decision["warnings"]
    rule = f"have an answer that stands whole in no window of {description['max_length']} tokens"
    for clause, split in zip(decision["warnings"][-2:], ("train", "test"), strict=True):
        count, rows = description["left_out"][split], description["rows"][split]
        assert clause.startswith(f"{count} of {rows} {split} questions {rule}")


@pytest.mark.long
def test_numbers_have_errors_and_a_gate_against_the_training_mean(tmp_path, line):
    artifacts = line("regression")
    evaluation, decision = run(tmp_path, artifacts, students=[artifacts.student], edges=[artifacts.edge])
    files = ["tflite float32", "tflite int8", "onnx float32"]
    for name in ("training mean", "teacher", *files):
        assert evaluation["models"][name]["metrics"].keys() == {"spearman", "pearson", "r2", "rmse", "mae"}
    assert evaluation["calibration"] is None, "of numbers"
    gated = [reason for reason in decision["reasons"] if "must be below the training mean's" in reason]
    assert [reason.split()[1:3] for reason in gated] == [name.split() for name in files]
    assert any("r2" in reason and "evaluation.max_export_loss 1.5" in reason for reason in decision["reasons"])


@pytest.mark.parametrize("task", long_but(["classification"], ["classification", "token_classification"]))
def test_labels_of_the_shipped_file_are_calibrated_on_validation_rows(tmp_path, line, task, monkeypatch):
    from keras_bert.export.bundle import load_exported
    from keras_bert.metrics.calibration import calibration_error, find_temperature, probabilities

    monkeypatch.setattr("components.scoring.calibration.FEWEST_ROWS", 1)
    artifacts = line(task)
    evaluation, _ = run(
        tmp_path, artifacts, edges=[artifacts.edge], thresholds=Thresholds(min_precision=0.5), baselines=False
    )
    calibration, file = evaluation["calibration"], load_exported(artifacts.edge.path)
    scoring, labels = TASK_SCORING[task], list(file.labels)
    for split in ("validation", "test"):
        logits, truth, *_ = scoring.logits(file, read_rows(artifacts.examples, split))
        numbers = np.array([labels.index(label) for label in truth])
        if split == "validation":
            assert calibration["temperature"] == find_temperature(logits, numbers)
        for place, temperature in enumerate((1.0, calibration["temperature"] or 1.0)):
            shares = probabilities(logits, temperature)
            expected = calibration_error(shares.max(axis=1), shares.argmax(axis=1) == numbers)
            assert calibration[split]["calibration_error"][place] == pytest.approx(expected)
        assert calibration[split]["rows"] == len(logits)
        assert 0 < calibration[split]["kept"]["share"] <= 1
    assert calibration["validation"]["kept"]["precision"] >= 0.5


@pytest.mark.long
def test_decisions_about_labels_are_calibrated_together(tmp_path, line, monkeypatch):
    from keras_bert.export.bundle import load_exported
    from keras_bert.metrics.calibration import calibration_error, find_temperature

    monkeypatch.setattr("components.scoring.calibration.FEWEST_ROWS", 1)
    artifacts = line("multi_label")
    evaluation, _ = run(tmp_path, artifacts, edges=[artifacts.edge], baselines=False)
    calibration, file = evaluation["calibration"], load_exported(artifacts.edge.path)
    assert file.thresholds == artifacts.load("quantized").thresholds
    rows = read_rows(artifacts.examples, "validation")
    logits = np.stack(list(file.outputs([row.text for row in rows]))).ravel()
    flags = file.flags([row.labels for row in rows]).ravel()
    both = np.stack([np.zeros_like(logits), logits], axis=1)
    assert calibration["temperature"] == find_temperature(both, flags)
    shares = 1 / (1 + np.exp(-logits.astype("float64")))
    expected = calibration_error(np.maximum(shares, 1 - shares), (shares > 0.5) == flags)
    assert calibration["validation"]["calibration_error"][0] == pytest.approx(expected)
    assert calibration["validation"]["rows"] == 2 * len(rows)


@pytest.mark.parametrize("task", long_but(("classification", "embedding"), tuning_job.TASKS))
def test_the_worst_answers_of_the_shipped_model_are_kept(tmp_path, line, task):
    artifacts = line(task)
    evaluation, _ = run(tmp_path, artifacts, teachers=[artifacts.blank], baselines=False)
    answers = json.loads((tmp_path / "evaluation" / "answers.json").read_text())
    mistakes = answers["mistakes"]
    assert answers["reliability"] is evaluation["calibration"] is None, "no file is shipped"
    assert mistakes["total"] == evaluation["rows"]["test"]
    if task == "classification":
        assert mistakes["wrong"] == round((1 - evaluation["models"]["teacher"]["metrics"]["accuracy"]["mean"]) * 4)
        assert [row["value"] for row in mistakes["rows"]] == [None] * mistakes["wrong"]
    if task in ("regression", "embedding"):
        values = [row["value"] for row in mistakes["rows"]]
        assert values == sorted(values, reverse=True)
        assert len(values) == mistakes["total"]


def test_of_a_shipped_file_the_most_confident_mistakes_come_first(tmp_path, line):
    artifacts = line("classification")
    evaluation, _ = run(tmp_path, artifacts, edges=[artifacts.edge], baselines=False)
    answers = json.loads((tmp_path / "evaluation" / "answers.json").read_text())
    for side in ("before", "after"):
        bins = [bucket for bucket in answers["reliability"][side] if bucket]
        assert sum(bucket["rows"] for bucket in bins) == evaluation["rows"]["test"]
        right = sum(bucket["rows"] * bucket["accuracy"] for bucket in bins) / evaluation["rows"]["test"]
        assert right == pytest.approx(evaluation["models"][evaluation["shipped"]]["metrics"]["accuracy"]["mean"])
    assert all(0.5 <= row["value"] <= 1 for row in answers["mistakes"]["rows"])


def test_the_values_of_columns_are_slices(tmp_path, line, monkeypatch):
    monkeypatch.setattr("components.scoring.slices._FEWEST_ROWS", 1)
    artifacts = line("classification")
    test = read_rows(artifacts.examples, "test")
    table = tmp_path / "rows.tsv"
    # The column tells which answers are right, so that each slice has one score.
    answers = keras_bert.load(artifacts.teacher.path).predict([row.text for row in test])
    right = {row.text for row, answer in zip(test, answers, strict=True) if answer.label == row.label}
    lines = [f"{row.text}\t{row.label}\t{'good' if row.text in right else 'bad'}" for row in test]
    table.write_text("\n".join(["text\tlabel\tkind", *lines]) + "\n")
    source = TableSource(*[str(table)] * 3)
    rows = read_source_rows(tmp_path / "rows", source, kept=KeptColumns(test=("kind",)))
    thresholds = Thresholds(slice_columns=("kind",), min_slice_scores={"kind=good": 100.0, "kind=bad": 90.0})
    evaluation, decision = run(tmp_path, artifacts, origins=origins_of(rows), thresholds=thresholds)
    scores = {(one["kind"], one["value"]): (one["score"], one["rows"]) for one in evaluation["slices"]}
    assert scores["unknown", "0 %"][1] == len(test)
    by_length = [rows for (kind, _), (_, rows) in scores.items() if kind == "length"]
    assert sum(by_length) == len(test)
    count = sum(row.text in right for row in test)
    assert scores["kind", "good"] == (1.0, count)
    bad = [reason for reason in decision["reasons"] if "'kind=bad'" in reason]
    if count < len(test):
        assert scores["kind", "bad"] == (0.0, len(test) - count)
        # One row alone says nothing; of two wrong ones the interval ends at 84.
        assert bad[0].startswith("NO: " if len(test) - count > 1 else "yes: ")
    else:
        assert bad == ["yes: evaluation.min_slice_scores of 'kind=bad' had no slice of 1 test rows to decide on"]
