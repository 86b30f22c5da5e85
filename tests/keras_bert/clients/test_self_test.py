"""The self-test of a pushed folder: it passes, and each planted fault has its part named."""

import json
import time

import numpy as np
import pytest

import keras_bert
from keras_bert.clients import self_test
from keras_bert.clients.golden import make_golden_rows, write_golden
from keras_bert.clients.self_test import SelfTestError, check_file, write_self_test
from keras_bert.export.sample_texts import TEXTS
from keras_bert.export.targets.registry import FILES
from pipeline.cli import main
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import make_task
from tests.pipeline.command_line import said

FILE = "model_float32.tflite"
# Fault that clients plant -> a part of what they say.
PARTS = {
    "none": "",
    "truncated": "it is truncated, or of another version",
    "version": "it is damaged, or of another version",
    "labels": "the labels must be those of the training",
    "pieces": "the tokenizer gives other tokens for",
    "rows": "the tokenizer gives other tokens for",
    "processor": "this processor or its runtime computes otherwise",
    "nan": "this processor or its runtime computes otherwise",
    "short": "this processor or its runtime computes otherwise",
}


def check_faults(lines):
    """Checks what a client said of each planted fault."""
    for said_of_fault, part in zip(lines, PARTS.values(), strict=True):
        assert part in said_of_fault
        assert (said_of_fault == "null") == (not part)


def write_folder(folder, kind="classification"):
    folder.mkdir(exist_ok=True)
    made = export_folder(make_task(kind), folder)
    write_golden(made, make_golden_rows(made))
    write_self_test(made)
    return made


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("pushed"))


@pytest.fixture
def folder(pushed, tmp_path):
    """A copy, in which files may change."""
    for file in pushed.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def fault(place):
    with pytest.raises(SelfTestError) as caught:
        check_file(place)
    assert "\n" not in str(caught.value)
    return caught.value.part


def edit(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_passes_in_a_few_milliseconds_and_bytes(folder, capfd):
    check_file(folder)
    check_file(folder / FILE)
    assert keras_bert.check_file is check_file
    assert "self-test" in (printed := said(capfd, "describe", folder / FILE))
    assert "passes" in printed
    assert (folder / "self_test.json").stat().st_size < 20_000
    task = keras_bert.load(folder)
    rows = [row for row in json.loads((folder / "self_test.json").read_text())["rows"] if "outputs" in row]
    assert len(rows) == 3
    start = time.perf_counter()
    for row in rows:
        task.predict([row["text"]])
    self_test.hash_blocks(folder / FILE)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("kind", ["question_answering", "embedding"])
def test_other_tasks_have_one(kind, tmp_path):
    folder = write_folder(tmp_path / kind, kind)
    check_file(folder)
    assert (folder / "self_test.json").stat().st_size < 20_000
    rows = json.loads((folder / "self_test.json").read_text())["rows"]
    assert [len(row["outputs"][FILE]) <= 64 for row in rows if "outputs" in row] == [True] * 3


@pytest.mark.parametrize(("tasks", "files"), [(1, 9), (2, 3), (4, 3), (8, 3)])
def test_many_files_and_tasks_have_as_many_bytes_as_one(tasks, files, tmp_path):
    """Two tasks of vectors in three files had 20.6 KB, four had 41 KB, and one in nine files had 23.5 KB."""
    chance, names = np.random.default_rng(0), [f"task_{number}" for number in range(tasks)] if tasks > 1 else [""]
    of_ids = [file.name for file in FILES if file.takes_pairs and file.name.endswith((".tflite", ".onnx"))][:files]
    assert len(of_ids) == files
    rows = []
    for file in of_ids:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(bytes(10_000))
    for name in names:
        for text in TEXTS:
            pieces = chance.integers(1000, 30_000, max(3, len(text) // 4)).tolist()
            ids = [101, *pieces, 102]
            outputs = {file: np.round(chance.normal(0, 0.05, 384), 6).tolist() for file in of_ids}
            row = {"text": text, "pieces": pieces, "token_ids": ids, "outputs": outputs}
            rows.append({"task": name, **row, "segment_ids": [0] * len(ids), "padding_mask": [1] * len(ids)})
    write_golden(tmp_path, rows)
    settings = {"labels": ["no", "yes"]}
    (tmp_path / "task.json").write_text(
        json.dumps({"tasks": dict.fromkeys(names, settings)} if tasks > 1 else settings)
    )
    write_self_test(tmp_path)
    assert 5_000 < (tmp_path / "self_test.json").stat().st_size <= 20_000
    content = json.loads((tmp_path / "self_test.json").read_text())
    tests = content.get("tasks", {"": content})
    assert list(tests) == names
    for test in tests.values():
        counts = [len(row["outputs"][file]) for row in test["rows"] if "outputs" in row for file in of_ids]
        assert len(counts) == 3 * files
        assert min(counts) >= 8
    assert {row["text"] for test in tests.values() for row in test["rows"]} == set(TEXTS)


def test_the_largest_numbers_of_an_output_are_kept(folder):
    vector = np.zeros(1000)
    vector[200:300] = np.linspace(-1, 1, 100)
    edit(folder / "golden.json", lambda rows: [row["outputs"].update({FILE: vector.tolist()}) for row in rows])
    write_self_test(folder)
    rows = json.loads((folder / "self_test.json").read_text())["rows"]
    for row in (row for row in rows if "outputs" in row):
        assert row["places"] == [*range(200, 232), *range(268, 300)]
        np.testing.assert_allclose(row["outputs"][FILE], vector[row["places"]], atol=1e-6)


@pytest.mark.parametrize("name", ["saved_model.pb", "model_mediapipe.tflite"])
def test_a_folder_without_files_of_ids_has_tokens_alone(folder, name):
    """A push of such a folder ended in StopIteration."""
    edit(folder / "golden.json", lambda rows: [row.update(outputs={name: row["outputs"][FILE]}) for row in rows])
    write_self_test(folder)
    test = json.loads((folder / "self_test.json").read_text())
    assert test["files"] == {}
    assert all(row.keys() == {"text", "pieces"} for row in test["rows"])
    assert test["rows"]


def test_truncated_file(folder, capfd):
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-9])
    assert fault(folder) == "file"


def test_another_version_of_the_same_size(folder, capfd):
    content = bytearray((folder / FILE).read_bytes())
    content[len(content) // 2 : len(content) // 2 + 20_000] = bytes(20_000)
    (folder / FILE).write_bytes(content)
    assert fault(folder / FILE) == "file"


def test_swapped_labels(folder, monkeypatch):
    task = keras_bert.load(folder)
    monkeypatch.setattr(self_test, "load_exported", lambda *_: task)
    check_file(folder)
    task.labels = task.labels[::-1]
    assert fault(folder) == "labels"


def test_another_tokenizer(folder, monkeypatch):
    task = keras_bert.load(folder)
    task.tokenizer = type(task.tokenizer)(list(task.tokenizer.vocabulary), lowercase=False)
    monkeypatch.setattr(self_test, "load_exported", lambda *_: task)
    assert fault(folder) == "tokenizer"


def test_a_last_bit_in_one_row_passes(folder, monkeypatch):
    predict, calls = self_test.predict_outputs, []

    def change_first(*given):
        calls.append(given)
        return predict(*given) * (0.8 if len(calls) == 1 else 1)

    monkeypatch.setattr(self_test, "predict_outputs", change_first)
    check_file(folder)
    assert len(calls) == 2


@pytest.mark.parametrize("change", [lambda values: values * 0.8, lambda values: values + np.nan])
def test_a_processor_that_computes_otherwise(change, folder, monkeypatch, capfd):
    predict = self_test.predict_outputs
    monkeypatch.setattr(self_test, "predict_outputs", lambda *given: change(predict(*given)))
    assert fault(folder) == "outputs"
    assert main(["describe", str(folder / FILE)]) == 3
    assert "computes otherwise" in " ".join(capfd.readouterr().out.split())


def test_files_without_a_self_test_are_named(folder, tmp_path, capfd):
    edit(folder / "self_test.json", lambda test: test["files"].clear())
    with pytest.raises(FileNotFoundError, match=r"model_float32\.tflite must be one of  in"):
        check_file(folder / FILE)
    (folder / "self_test.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"must be a pushed folder with self_test\.json"):
        check_file(folder)
    assert "self-test" not in said(capfd, "describe", folder / FILE)
