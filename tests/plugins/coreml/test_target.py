"""The target `coreml` in a job, and files of its format where plug-ins and libraries are missing."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from components.dsl.errors import InputError, install_command
from components.scoring.card_metadata import render_metadata
from keras_bert.export.attachments import read_attachments
from keras_bert.export.bundle import load_exported
from keras_bert.export.files import list_parts
from pipeline.views.description import read_description
from plugins.coreml.mil import MilFunction, MilOperation
from plugins.coreml.target import COREML_FILE, COREML_FOLDER
from tests.components.scoring.test_model_card import metrics
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load, refusal

EXPORT = "[export]\nruntimes = ['tflite', 'coreml']\n"


def pretend(monkeypatch, *, installed):
    """The library is there, or is not."""
    find = importlib.util.find_spec
    specs = {"coremltools": find("json") if installed else None}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: specs[name] if name in specs else find(name))


def test_needs_its_library(tmp_path, monkeypatch):
    pretend(monkeypatch, installed=False)
    missing = "'coreml' here: it needs the Python package coremltools, which is not installed: "
    message = f"export.runtimes must leave out {missing}{install_command('accelerators')}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        load(tmp_path, CHECKPOINT + EXAMPLES + EXPORT)
    with pytest.raises(InputError, match=r"^model\.mlpackage cannot be read: it needs the Python package coremltools"):
        read_description(Path(COREML_FOLDER))
    pretend(monkeypatch, installed=True)
    assert "coreml" in load(tmp_path, CHECKPOINT + EXAMPLES + EXPORT).export.runtimes


def test_is_written_beside_the_file_that_is_measured(tmp_path):
    line = refusal(tmp_path, CORPUS + EXAMPLES, "export.runtimes=['coreml']")
    assert line == "export.runtimes must hold 'tflite' beside 'coreml', got ['coreml']"


def test_the_card_has_the_tag_of_the_format():
    assert "- coreml\n" in render_metadata("mine", "classification", metrics(), {COREML_FILE: {}}, None)


def write_package(folder, model):
    """A pushed folder whose package is empty."""
    file = folder / COREML_FILE
    (file.parent / "weights").mkdir(parents=True)
    (file.parent / "weights" / "weight.bin").write_bytes(b"weights")
    file.write_bytes(b"")
    for name in ("task.json", "vocab.txt", "tokenizer.json"):
        (folder / name).write_bytes((model / name).read_bytes())
    return file


def test_a_package_answers_with_the_settings_of_its_pushed_folder(tmp_path, monkeypatch, checkpoint):
    file = write_package(tmp_path, checkpoint / "model")
    add = MilOperation("cast", {"x": "token_ids", "dtype": "kind"}, [("embedding", np.float32, (1, 16))])
    inputs = ("token_ids", "segment_ids", "padding_mask")
    function = MilFunction(inputs, {"embedding": (1, 16)}, {"kind": "fp32"}, [add])
    monkeypatch.setattr("plugins.coreml.reader.read_functions", lambda file: {"serve_16": function})
    task = load_exported(file)
    width = json.loads((tmp_path / "task.json").read_text())["max_length"]
    assert (task.max_length, width) == (16, 16)
    vectors = task.predict(["cow"])
    assert np.asarray(vectors).shape == (1, 16)
    assert [part.name for part in list_parts(file)] == ["model.mlmodel", "weight.bin"]


def test_is_refused_without_the_plug_in(tmp_path, monkeypatch, checkpoint):
    file = write_package(tmp_path, checkpoint / "model")
    assert read_attachments(file) == {}
    monkeypatch.setattr("keras_bert.export.files.find_plugins", lambda kind: {})
    rule = r"must be a \.tflite or \.onnx file, or a saved_model\.pb; no plug-in that is installed opens other files"
    with pytest.raises(ValueError, match=rf"^{file} {rule}"):
        load_exported(file)
