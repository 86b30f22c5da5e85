import importlib
import json
import pkgutil
import time
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_bert import families, layers
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining
from keras_bert.models.saving import CUSTOM_OBJECTS, load_model, save_model
from tests import forked
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize

INPUTS = {**make_inputs(), "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    model = build_pretraining(build_encoder(EncoderConfig(**SETTINGS)))
    randomize(model)
    return model


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    save_model(model, path)
    return path


def load_run_save(source, target, results):
    """What the fresh process does."""
    model = load_model(Path(source))
    np.savez(results, **model(INPUTS))
    save_model(model, Path(target))


def test_other_weights_give_other_bytes_and_nothing_of_the_process_is_saved(path, tmp_path):
    other = load_model(path)
    other.get_layer("next_sentence").bias.assign([0.5, 0.25])
    save_model(other, tmp_path / "other.keras")
    assert (tmp_path / "other.keras").read_bytes() != path.read_bytes()
    with zipfile.ZipFile(path) as file:
        assert "date_saved" not in json.loads(file.read("metadata.json"))
        assert b"shared_object_id" not in file.read("config.json")


def test_a_fresh_process_gets_equal_results_and_writes_equal_bytes(model, path, tmp_path):
    files = [str(path), str(tmp_path / "again.keras"), str(tmp_path / "results.npz")]
    forked.run(load_run_save, *files)
    with np.load(files[2]) as results:
        for name, expected in model(INPUTS).items():
            np.testing.assert_array_equal(results[name], expected)
    assert Path(files[1]).read_bytes() == path.read_bytes()


def test_the_token_embedding_stays_tied(model, path):
    loaded = load_model(path)
    assert loaded.count_params() == model.count_params()
    assert sum(tuple(weight.shape) == (20, 8) for weight in loaded.weights) == 1
    before = np.asarray(loaded(INPUTS)["masked_tokens"])
    table = loaded.get_layer("token_embedding").embeddings
    # A token that no input holds: only its scores can change.
    absent = min(set(range(20)) - set(INPUTS["token_ids"].ravel().tolist()))
    table.assign(np.where(np.arange(20)[:, None] == absent, 1.0, table))
    changed = np.any(np.asarray(loaded(INPUTS)["masked_tokens"]) != before, axis=(0, 1))
    assert np.flatnonzero(changed).tolist() == [absent]


def rewrite(source, target, member, change):
    """The file again, with one member changed; left out, if the change gives nothing."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = change(old.read(name)) if name == member else old.read(name)
            if content:
                new.writestr(name, content)


@pytest.mark.parametrize(
    ("member", "change"),
    [
        ("config.json", lambda content: b""),
        ("config.json", lambda content: b"[]"),
        ("config.json", lambda content: content.replace(b"EncoderBlock", b"EncoderBrick")),
        ("model.weights.h5", lambda content: content[: len(content) // 2]),
        ("model.weights.h5", lambda content: b""),
    ],
)
def test_refuses_damaged_file(path, tmp_path, member, change):
    rewrite(path, tmp_path / "model.keras", member, change)
    with pytest.raises(ValueError, match=r"model\.keras must be a model that this library saved, got \w+: "):
        load_model(tmp_path / "model.keras")


def test_flipped_bytes_missing_files_and_code_are_refused(path, tmp_path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "model.keras").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.keras must be a model that this library saved, got BadZipFile: "):
        load_model(tmp_path / "model.keras")
    with pytest.raises(FileNotFoundError, match=r"there is no model at .*other\.keras"):
        load_model(tmp_path / "other.keras")
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: x + 1)(inputs))
    save_model(model, tmp_path / "model.keras")
    with pytest.raises(ValueError, match="safe"):
        load_model(tmp_path / "model.keras")


def import_all_layers():
    """What a fresh process does."""
    for package in (families, layers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    names = {name for name in keras.saving.get_custom_objects() if name.startswith("keras_bert>")}
    assert len(CUSTOM_OBJECTS) > 40
    assert names <= set(CUSTOM_OBJECTS)


def test_loading_registers_all_that_a_saved_model_may_hold():
    """Else a model could be loaded only in a process that had imported the layers it holds."""
    forked.run(import_all_layers)


def test_equal_models_give_equal_bytes_at_any_time(model, path, tmp_path):
    # Zip and HDF5 files tell the time in whole seconds or two; other tests came between.
    time.sleep(max(0.0, path.stat().st_mtime + 2.1 - time.time()))
    keras.utils.set_random_seed(0)
    other = build_pretraining(build_encoder(EncoderConfig(**SETTINGS)))
    randomize(other)
    for number, equal in enumerate((model, other)):
        save_model(equal, tmp_path / f"{number}.keras")
        assert (tmp_path / f"{number}.keras").read_bytes() == path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.keras", "1.keras"]
