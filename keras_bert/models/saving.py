"""Saves and loads models as `.keras` files; equal models give equal bytes."""

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import keras

import keras_bert.core.losses

# Imported because their classes and functions register themselves with Keras; the graphs import all encoder layers.
import keras_bert.families.bigbird.span_head
import keras_bert.families.graphs
import keras_bert.layers.adapters
import keras_bert.layers.heads
import keras_bert.layers.regression_head
import keras_bert.metrics.accuracy
import keras_bert.models.optimizer  # noqa: F401
from keras_bert.core.plugins import find_plugins

for _plugin in find_plugins("layers").values():
    _plugin.load()

# The classes and functions of saved models that Keras does not have, by their registered names.
CUSTOM_OBJECTS: dict[str, Any] = {
    name: thing for name, thing in keras.saving.get_custom_objects().items() if name.startswith("keras_bert>")
}

# The earliest time of a zip entry.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: keras.Model, path: Path) -> None:
    """Writes a `.keras` file without optimizer, dates and memory addresses.

    Equal models give equal bytes, so that steps that depend on a repeated training need not run again.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        dated = Path(folder) / "model.keras"
        # Not compiled: the state of the optimizer is twice as large as the weights, and is not needed.
        keras.saving.save_model(keras.Model(model.input, model.output, name=model.name), dated)
        with zipfile.ZipFile(dated) as source, zipfile.ZipFile(path, "w") as target:
            for name in sorted(source.namelist()):
                content = source.read(name)
                if name == "metadata.json":
                    metadata = {name: value for name, value in json.loads(content).items() if name != "date_saved"}
                    content = json.dumps(metadata, sort_keys=True).encode()
                if name == "config.json":
                    content = _without_addresses(content)
                target.writestr(zipfile.ZipInfo(name, _EPOCH), content)


def load_model(path: Path) -> keras.Model:
    """Loads a model that `save_model` saved, in Keras' safe mode."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no model at {path}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be a whole .keras file, got one that is cut off or of another kind")
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    # The errors of Keras, h5py and zipfile for damaged contents.
    except (AttributeError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{path} must be a model that this library saved, got {reason}") from error


def describe_model(model: keras.Model) -> bytes:
    """The architecture of a model as JSON, which does not depend on its weights."""
    return _without_addresses(model.to_json().encode())


def _without_addresses(content: bytes) -> bytes:
    """Drops the memory addresses that Keras writes for shared objects.

    In this library's models only the dtype policy is shared, which is saved by value: nothing is lost.
    """

    def drop(config: dict[str, Any]) -> dict[str, Any]:
        config.pop("shared_object_id", None)
        return config

    return json.dumps(json.loads(content, object_hook=drop)).encode()
