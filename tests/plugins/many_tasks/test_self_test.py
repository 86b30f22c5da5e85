"""The self-test of a folder of several tasks: each has numbers, labels and rows of its own."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.clients import golden, self_test
from keras_bert.clients.golden import add_calibrated_answers, make_golden_rows, write_golden
from keras_bert.clients.page import write_tokenizers
from keras_bert.clients.self_test import SelfTestError, check_file, write_self_test
from keras_bert.core.target_scale import TargetScale
from plugins.many_tasks.task import ManyTasks
from tests.keras_bert.clients.test_self_test import PARTS, check_faults
from tests.plugins.many_tasks.tiny import make_tasks

pytestmark = pytest.mark.usefixtures("eager")

FILE = "model.onnx"
SOURCE = Path(self_test.__file__).with_name("self_test.js")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    tasks = make_tasks("mood", "stars", "tags")
    # Numbers whose range is a thousand times that of logits.
    tasks["stars"].model.get_layer("regressor").scale = TargetScale(5000.0, 2000.0)
    many = ManyTasks(tasks)
    many.export(folder / FILE)
    many.save_settings(folder)
    metrics = {"tasks": {"mood": {"calibration": {"temperature": 4.0, "threshold": 0.55}}, "stars": {}, "tags": {}}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    write_golden(folder, [{"task": name, **row} for name in tasks for row in make_golden_rows(folder, name)])
    write_self_test(folder)
    return folder


def test_each_task_has_a_tolerance_labels_and_rows(folder):
    check_file(folder)
    tests = json.loads((folder / "self_test.json").read_text())["tasks"]
    assert list(tests) == ["mood", "stars", "tags"]
    assert all(sum("outputs" in row for row in test["rows"]) == 3 for test in tests.values())
    assert tests["stars"]["files"][FILE]["tolerance"] > 100 * tests["mood"]["files"][FILE]["tolerance"]
    assert len({test["labels"] for test in tests.values()}) == 3


@pytest.mark.parametrize("kind", ["classification", "regression", "token_classification"])
def test_a_task_that_is_computed_otherwise_is_found(folder, monkeypatch, kind):
    predict = self_test.predict_outputs
    monkeypatch.setattr(
        self_test, "predict_outputs", lambda task, *row: predict(task, *row) * (0.8 if task.name == kind else 1)
    )
    with pytest.raises(SelfTestError) as caught:
        check_file(folder)
    assert caught.value.part == "outputs"


def test_labels_of_a_task_in_another_order_are_found(folder, monkeypatch):
    loaded = keras_bert.load(folder)
    loaded.part("tags").labels = loaded.part("tags").labels[::-1]
    monkeypatch.setattr(self_test, "load_exported", lambda *_: loaded)
    with pytest.raises(SelfTestError) as caught:
        check_file(folder)
    assert caught.value.part == "labels"


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_javascript_tests_one_task(folder, tmp_path):
    module = tmp_path / "self_test.mjs"
    shutil.copyfile(SOURCE, module)
    script = Path(__file__).parent / "web" / "ask_self_test.mjs"
    for task in ("mood", "stars", "tags", "none"):
        command = ["node", str(script), str(module), str(folder), FILE, task]
        right, wrong, swapped = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        if task == "none":
            assert right == 'task must be one of mood, stars, tags, got "none"'
            continue
        assert right == ""
        assert "computes otherwise" in wrong
        assert "labels must be those" in swapped


@pytest.mark.kotlin
def test_kotlin_tests_one_task(folder, tmp_path):
    from tests.clients.kotlin import compiler

    write_tokenizers(folder)
    names = ("WordPiece.kt", "SelfTest.kt")
    sources = [*(folder / "tokenizers" / name for name in names), Path(compiler.__file__).with_name("Faults.kt")]
    app = compiler.compile_kotlin(sources, tmp_path / "app", [compiler.library("json")])
    command = [*compiler.program("FaultsKt", app, compiler.library("json")), str(folder), FILE, "mood"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(PARTS)
    check_faults(lines)


@pytest.mark.swift
def test_swift_tests_one_task(folder, tmp_path):
    from tests.clients.swift import test_tokenizers

    write_tokenizers(folder)
    names = ("WordPiece.swift", "SelfTest.swift")
    main = Path(test_tokenizers.__file__).parent / "faults" / "main.swift"
    sources = [*(folder / "tokenizers" / name for name in names), main]
    command = [*test_tokenizers.compile_swift(tmp_path / "faults", *sources), str(folder), FILE, "mood"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(PARTS)
    check_faults(lines)


@pytest.mark.parametrize(("calibrated", "opened"), [(("mood", "tags"), 1), ((), 0)])
def test_the_file_is_opened_once_for_all_calibrated_tasks(folder, tmp_path, monkeypatch, calibrated, opened):
    for file in folder.iterdir():
        if file.is_file():
            shutil.copyfile(file, tmp_path / file.name)
    table = {"calibration": {"temperature": 4.0, "threshold": None}}
    metrics = {"tasks": {name: table if name in calibrated else {} for name in ("mood", "stars", "tags")}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    calls, load = [], golden.load_exported
    monkeypatch.setattr(golden, "load_exported", lambda *given: calls.append(given) or load(*given))
    add_calibrated_answers(tmp_path)
    assert len(calls) == opened


def test_golden_answers_of_a_calibrated_task_are_calibrated(folder, tmp_path):
    for file in folder.iterdir():
        if file.is_file():
            shutil.copyfile(file, tmp_path / file.name)
    before = json.loads((tmp_path / "golden.json").read_text())
    add_calibrated_answers(tmp_path)
    mood, seen = keras_bert.load(tmp_path, task="mood"), set()
    for row, raw in zip(json.loads((tmp_path / "golden.json").read_text()), before, strict=True):
        calibrated = row.pop("calibrated", None)
        assert row == raw
        assert (calibrated is None) == (row["task"] != "mood")
        if calibrated is not None:
            (answer,) = mood.predict([row["text"]], *([[row["second"]]] if "second" in row else []))
            assert calibrated["probability"] == pytest.approx(answer.probability, abs=1e-6)
            assert calibrated["is_sure"] == (answer.probability >= 0.55)
            seen.add(np.isclose(calibrated["probability"], row["answer"]["probability"], atol=1e-4))
    assert False in seen
