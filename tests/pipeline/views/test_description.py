"""What a file says of itself, for a person and for a program."""

import json

import onnx
import pytest

from components.dsl.errors import InputError
from keras_bert.export.attachments import attach_entries
from pipeline.views.description import _lines, read_accelerators, read_description
from tests.pipeline.command_line import refused, said

SPREAD = {"accuracy": {"mean": 0.875, "sd": 0.01, "seeds": [0.865, 0.885]}}
METRICS = {
    "task": "classification",
    "metric": "accuracy",
    "rows": {"train": 8, "test": 2},
    "shipped": "tflite int8",
    "kept": 1,
    "models": {"tflite int8": {"metrics": SPREAD}},
}
HELD = {
    "task.json": {"task": "classification", "labels": ["no", "yes"], "max_length": 64},
    "export.json": {"model.tflite": {"weights": "int8", "lengths": [32, 64], "libraries": {"keras": "3.15.1"}}},
    "metrics.json": METRICS,
    "origin.json": {"examples": "abc"},
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"a model")
    attach_entries(
        path, {name: json.dumps(content).encode() for name, content in HELD.items()} | {"vocab.txt": b"a\nb\n"}
    )
    return path


def test_all_that_is_known_is_read(file):
    content = read_description(file)
    assert content["task"] == HELD["task.json"]
    assert content["export"] == HELD["export.json"]["model.tflite"]
    assert content["metrics"] == METRICS
    assert (content["entries"], content["origin"]) == (2, {"examples": "abc"})


def test_a_person_reads_a_table(file, capsys):
    shown = said(capsys, "describe", file)
    for text in ("classification, up to 64 tokens", "no, yes", "int8", "32, 64", "87.50 ± 1.00", "3.15.1", "abc"):
        assert text in shown
    assert "seed 1 of 2" in shown


def test_a_calibrated_file_tells_its_temperature(file):
    errors = {name: {"calibration_error": [0.1, 0.02]} for name in ("validation", "test")}
    for temperature, text in ((1.25, "1.2500"), (None, "none: 6 rows are few")):
        metrics = METRICS | {"calibration": {"temperature": temperature, "no_temperature": "6 rows are few", **errors}}
        lines = dict(_lines(read_description(file) | {"metrics": metrics}))
        assert lines["temperature"] == text
        assert lines["calibration"].startswith("expected calibration error 10.00 -> 2.00 on validation")
    assert "temperature" not in dict(_lines(read_description(file)))


def test_a_program_reads_json(file, capsys):
    assert json.loads(said(capsys, "describe", file, "--json")) == read_description(file)


@pytest.mark.parametrize(
    "changed",
    [
        {"task.json": {"max_length": 64}},
        {"export.json": []},
        {"metrics.json": METRICS | {"shipped": "tflite float32"}},
        {"metrics.json": METRICS | {"rows": 10}},
        {"metrics.json": {"models": {}}},
        {"origin.json": "abc"},
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path, changed, capsys):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"a model")
    attach_entries(path, {name: json.dumps(content).encode() for name, content in (HELD | changed).items()})
    line = refused(capsys, "describe", path, "--json")
    assert "model.tflite must hold task.json, export.json, metrics.json, origin.json as they are written here" in line


def test_nested_attachments_are_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"a model")
    held = {name: json.dumps(content).encode() for name, content in HELD.items()}
    attach_entries(path, held | {"metrics.json": b"[" * 100_000 + b"]" * 100_000})
    assert "model.tflite cannot be read: maximum recursion depth exceeded" in refused(capsys, "describe", path)


@pytest.mark.usefixtures("stand_in_accelerators")
def test_accelerators_name_the_recipe_that_they_do_not_take(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.export.tflite_kinds.takes_text", lambda file: False)
    export = {"model.tflite": {"recipe": "static_wi8_ai16", "weights": "int8", "lengths": [32, 64], "libraries": {}}}
    path = tmp_path / "model.tflite"
    path.write_bytes(b"a model")
    held = {name: json.dumps(content).encode() for name, content in (HELD | {"export.json": export}).items()}
    attach_entries(path, held)
    covered = read_accelerators(path, ["engine"])
    reason = "engine takes files of float32, mixed_wi8_ai8, weights_wi4, float16, got static_wi8_ai16"
    assert covered == {"engine": {"obstacle": reason}}


def test_files_for_the_web_say_which_file_describes_them(tmp_path):
    file = tmp_path / "transformers_js" / "onnx" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(onnx.ModelProto(producer_name="cow").SerializeToString())
    rule = "must be a file beside transformers_js: its files, which transformers.js reads, hold no description"
    with pytest.raises(InputError, match=rf"{rule}; model\.onnx holds that of the same model$"):
        read_description(file)


def test_what_says_nothing_is_refused(file, tmp_path):
    with pytest.raises(InputError, match=r"must be a \.tflite, \.onnx.* saved_model\.pb.*, found none$"):
        read_description(tmp_path / "other.tflite")
    (tmp_path / "plain.tflite").write_bytes(b"a model")
    with pytest.raises(InputError, match="must be a file that was pushed or exported here"):
        read_description(tmp_path / "plain.tflite")
    content = file.read_bytes()
    file.write_bytes(content.replace(b"model.tflite", b"").replace(b"PK\x03\x04", b"PK\x03\x05", 1))
    with pytest.raises(InputError, match="are damaged"):
        read_description(file)


@pytest.mark.usefixtures("stand_in_accelerators")
def test_accelerators_are_not_asked_about_a_strange_file(file, tmp_path, capsys):
    strange = tmp_path / "strange.tflite"
    strange.write_bytes(b"TFL3 of another library")
    reason = f"{strange} must be a file that was pushed or exported here, found nothing in it that says so"
    assert refused(capsys, "describe", strange, "--accelerators") == reason
    unknown = refused(capsys, "describe", file, "--accelerators", "--chip", "maker/chi")
    assert unknown.endswith("got 'maker/chi'; nearest: 'maker/chip'")
