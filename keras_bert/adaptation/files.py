"""An adapter alone: a folder of a few megabytes beside the checkpoint that it belongs to."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from keras_bert.adaptation.adapter import Adapter
from keras_bert.folders import staged_files
from keras_bert.kinds import read_kind
from keras_bert.options.adaptation import ADAPTATIONS, Adaptation

SETTINGS_FILE = "adapter.json"
WEIGHTS_FILE = "adapter.safetensors"


def write_adapter(adapter: Adapter, folder: Path, task: Mapping[str, Any]) -> None:
    """Writes `adapter.json` and `adapter.safetensors`; both or none.

    Args:
        adapter: with its head.
        folder: where to.
        task: how the head is built again, as plain values.
    """
    with adapter.active():
        arrays = {path: np.ascontiguousarray(weight.numpy()) for path, weight in adapter.weights().items()}
    content = {"adaptation": dataclasses.asdict(adapter.adaptation), "base": adapter.base(), "task": dict(task)}
    with staged_files(folder) as staging:
        save_file(arrays, staging / WEIGHTS_FILE)
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        (staging / SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")


class Settings(NamedTuple):
    """What `adapter.json` says.

    Attributes:
        adaptation: which weights there are.
        base: tells the encoder that they were trained beside, see `Adapter.base`.
        task: how the head is built again.
    """

    adaptation: Adaptation
    base: str
    task: dict[str, Any]


def read_settings(folder: Path) -> Settings:
    """What an adapter is, without its weights.

    Raises:
        FileNotFoundError: there is no adapter.
        ValueError: `adapter.json` is damaged.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no adapter: it has no {SETTINGS_FILE}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        adaptation = read_kind(content["adaptation"], ADAPTATIONS, "Adaptation")
        return Settings(adaptation, content["base"], dict(content["task"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must hold an adapter's settings: {error!r}") from None


def read_adapter(folder: Path, make: Callable[[Adaptation], Adapter]) -> Adapter:
    """An adapter with the weights that `write_adapter` wrote.

    Args:
        folder: of the adapter.
        make: puts one beside an encoder; it need not be attached.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: one is damaged, the adapter was trained beside another encoder, or has weights of another shape.
    """
    adaptation, base, _ = read_settings(folder)
    path = folder / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no adapter: it has no {WEIGHTS_FILE}")
    try:
        adapter = make(adaptation)
    except ValueError as error:
        raise ValueError(f"{folder / SETTINGS_FILE} must suit the encoder: {error}") from None
    if adapter.base() != base:
        raise ValueError(f"{folder} was trained beside another encoder: its weights are {adapter.base()}, not {base}")
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is no whole safetensors file: {error}") from None
    with adapter.active():
        weights = adapter.weights()
        found, wanted = ({name: tuple(each.shape) for name, each in group.items()} for group in (arrays, weights))
        if found != wanted:
            odd = sorted(found.items() ^ wanted.items())[0][0]
            raise ValueError(f"{path}: {odd!r} must have the shape {wanted.get(odd)}, got {found.get(odd)}")
        for name, weight in weights.items():
            weight.assign(arrays[name])
    return adapter
