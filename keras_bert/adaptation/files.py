"""Adapter files: a folder of a few megabytes with an adapter and its head, without the encoder."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from keras_bert.adaptation.adapter import Adapter
from keras_bert.core.folders import staged_files
from keras_bert.options.adaptation import Adaptation, read_adaptation

SETTINGS_FILE = "adapter.json"
WEIGHTS_FILE = "adapter.safetensors"


def write_adapter(adapter: Adapter, folder: Path, task: Mapping[str, Any]) -> None:
    """Writes `adapter.json`, with settings that rebuild the task, and `adapter.safetensors`; both or none."""
    with adapter.active():
        arrays = {path: np.ascontiguousarray(weight.numpy()) for path, weight in adapter.weights().items()}
    content = {"adaptation": dataclasses.asdict(adapter.adaptation), "base": adapter.base(), "task": dict(task)}
    with staged_files(folder) as staging:
        save_file(arrays, staging / WEIGHTS_FILE)
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        (staging / SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")


class AdapterSettings(NamedTuple):
    """The content of `adapter.json`: kind and settings, the digest `Adapter.base`, and what rebuilds the task."""

    adaptation: Adaptation
    base: str
    task: dict[str, Any]


def read_settings(folder: Path) -> AdapterSettings:
    """Reads the settings of an adapter, without its weights."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not an adapter: it has no {SETTINGS_FILE}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return AdapterSettings(read_adaptation(content["adaptation"]), content["base"], dict(content["task"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must hold an adapter's settings: {type(error).__name__}: {error}") from None


def read_adapter(folder: Path, make: Callable[[Adaptation], Adapter]) -> Adapter:
    """Reads the adapter that `write_adapter` wrote, made for an encoder by `make`."""
    adaptation, base, _ = read_settings(folder)
    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not an adapter: it has no {WEIGHTS_FILE}")
    try:
        adapter = make(adaptation)
    except ValueError as error:
        raise ValueError(f"{folder / SETTINGS_FILE} must suit the encoder: {error}") from None
    if adapter.base() != base:
        raise ValueError(f"{folder} was trained beside another encoder: its weights are {adapter.base()}, not {base}")
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}") from None
    weights = adapter.weights()
    shapes, expected = ({name: tuple(weight.shape) for name, weight in group.items()} for group in (arrays, weights))
    if shapes != expected:
        name = sorted(shapes.items() ^ expected.items())[0][0]
        raise ValueError(f"{path}: {name!r} must have the shape {expected.get(name)}, got {shapes.get(name)}")
    with adapter.active():
        for name, weight in weights.items():
            weight.assign(arrays[name])
    return adapter
