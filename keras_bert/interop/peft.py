"""LoRA adapters in the format of Hugging Face's peft: `adapter_config.json` and `adapter_model.safetensors`.

Keys and names are those of `LoraConfig` and `get_peft_model_state_dict` of huggingface/peft, version 0.21.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.adaptation.adapter import Adapter
from keras_bert.folders import staged_files
from keras_bert.interop.configs import check_only, read_json, write_json
from keras_bert.interop.families import family_of
from keras_bert.interop.family import Family
from keras_bert.interop.heads import head_of
from keras_bert.interop.names import Foreign, Format
from keras_bert.interop.safetensors_files import open_file, save_tensors
from keras_bert.interop.weights import Array, Tensors, as_float32
from keras_bert.models.encoder import config_of, has_layer
from keras_bert.options.adaptation import Lora
from keras_bert.tasks.base import Task

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"

# What peft puts in front of the names of the model that it wraps.
_WRAPPER = "base_model.model."

_TASK_TYPES = {
    "classification": "SEQ_CLS",
    "regression": "SEQ_CLS",
    "token_classification": "TOKEN_CLS",
    "question_answering": "QUESTION_ANS",
    "embedding": "FEATURE_EXTRACTION",
}
# Keys that change what peft computes, with the one value that this library has.
_ONLY: dict[str, Any] = {
    "peft_type": "LORA",
    "bias": "none",
    "use_rslora": False,
    "use_dora": False,
    "fan_in_fan_out": False,
    "lora_bias": False,
    "rank_pattern": {},
    "alpha_pattern": {},
    "layers_to_transform": None,
    "layer_replication": None,
    "trainable_token_indices": None,
    "target_parameters": None,
    "alora_invocation_tokens": None,
    "megatron_config": None,
    "kasa_config": None,
    "monteclora_config": None,
    "use_qalora": False,
    "use_bdlora": None,
}
# Those that every version of peft knows.
_WRITTEN = ("peft_type", "bias", "fan_in_fan_out")
_OURS = {"down": ".lora_A.weight", "up": ".lora_B.weight"}


def to_peft(task: Task, folder: str | os.PathLike[str], *, family: str | None = None, base: str = "") -> None:
    """Writes a task's LoRA adapter and head as `PeftModel.from_pretrained` reads them; both files or none.

    Args:
        task: with a LoRA adapter that is not merged.
        folder: where to.
        family: the `model_type` of the base, see `to_hugging_face`.
        base: name or path of the base, which peft's own loaders look for.

    Raises:
        ValueError: the task has no LoRA adapter, or Hugging Face has no model like it.
    """
    if task.adapter is None or not isinstance(task.adapter.adaptation, Lora):
        kind = None if task.adapter is None else task.adapter.adaptation.kind
        raise ValueError(f"{type(task).__name__}.adapter must be of kind 'lora' to be written for peft, got {kind!r}")
    lora = task.adapter.adaptation
    with task.adapter.active():
        names = _names(task, family)
        weights = task.adapter.weights()
        tensors = {names[path].name: _turned(weight.numpy(), names[path]) for path, weight in weights.items()}
    modules = sorted({_kept_whole(name) for name in tensors if ".lora_" not in name})
    targets = sorted({name.removeprefix(_WRAPPER).partition(".lora_")[0] for name in tensors if ".lora_" in name})
    config = {
        **{key: _ONLY[key] for key in _WRITTEN},
        "base_model_name_or_path": base or None,
        "task_type": _TASK_TYPES.get(task.name),
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "target_modules": targets,
        "modules_to_save": modules or None,
        "inference_mode": True,
    }
    with staged_files(Path(folder)) as staging:
        write_json(staging / CONFIG_FILE, config)
        save_tensors(tensors, staging / WEIGHTS_FILE)


def from_peft(folder: str | os.PathLike[str], task: Task, *, family: str | None = None) -> Adapter:
    """Puts an adapter that peft wrote beside a task's encoder, and its head, where it has one, into the task's place.

    Args:
        folder: with `adapter_config.json` and `adapter_model.safetensors`.
        task: on the encoder that the adapter was trained beside, which is not checked; the adapter becomes its own.
        family: the `model_type` of the base, see `to_hugging_face`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: it is no LoRA, asks for what this library does not do, or does not fit the task.
    """
    folder = Path(folder)
    if not (folder / WEIGHTS_FILE).is_file():
        raise FileNotFoundError(f"{folder} is no adapter of peft's: it has no {WEIGHTS_FILE}")
    content = read_json(folder / CONFIG_FILE)
    check_only(folder / CONFIG_FILE, content, _ONLY)
    tensors = open_file(folder / WEIGHTS_FILE)
    lora = _read_lora(folder / CONFIG_FILE, content, task, tensors, family)
    adapter = task.adapt(lora)
    try:
        _fill(adapter, _names(task, family), tensors, folder / WEIGHTS_FILE)
    except ValueError:
        task.drop_adapter()
        raise
    return adapter


def _fill(adapter: Adapter, names: Mapping[str, Foreign], tensors: Tensors, path: Path) -> None:
    """Assigns all weights, those of the head where the file has them."""
    wanted = {names[own].name: (weight, names[own]) for own, weight in adapter.weights().items()}
    odd = [name for name in wanted if name not in tensors and ".lora_" in name]
    odd += [name for name in tensors if name not in wanted]
    if odd:
        raise ValueError(f"{path} does not fit the task: {odd[0]!r} is on one side only")
    for name, (weight, foreign) in wanted.items():
        if name not in tensors:
            continue
        value = _turned(as_float32(tensors[name], name, str(path)), foreign)
        if value.shape != tuple(weight.shape):
            raise ValueError(f"{path}: tensor {name!r}, turned, must have the shape {weight.shape}, got {value.shape}")
        weight.assign(value)


def _read_lora(
    path: Path, content: Mapping[str, Any], task: Task, tensors: Mapping[str, Array], family: str | None
) -> Lora:
    """The settings, and the layers for which there are tensors: `target_modules` may be a pattern of any kind.

    Raises:
        ValueError: a number is missing, or there is a tensor for no layer of the encoder.
    """
    for key in ("r", "lora_alpha"):
        if isinstance(content.get(key), bool) or not isinstance(content.get(key), int | float):
            raise ValueError(f"{path}: {key} must be a number, got {content.get(key)!r}")
    form, strip = _form(task, family)
    kernels = [weight.path for weight in task.encoder.weights if weight.path.endswith("/kernel")]
    stems = {
        _module(form, kernel, strip): kernel.removesuffix("/kernel") for kernel in kernels if kernel.startswith("block")
    }
    named = {name.removeprefix(_WRAPPER).partition(".lora_")[0] for name in tensors if ".lora_" in name}
    unknown = sorted(named - stems.keys())
    if unknown or not named:
        found = unknown[0] if unknown else None
        raise ValueError(f"{path}: adapters must stand beside layers of the encoder's blocks, got {found!r}")
    places = tuple(sorted({stems[name].partition("/")[2] for name in named}))
    rate = content.get("lora_dropout") or 0.0
    return Lora(rank=int(content["r"]), alpha=float(content["lora_alpha"]), dropout=float(rate), layers=places)


def _names(task: Task, family: str | None) -> dict[str, Foreign]:
    """The name in peft of each weight of a task's adapter and head; its thin matrices stand the other way round."""
    form, strip = _form(task, family)
    assert task.adapter is not None
    found = {}
    for path in task.adapter.weights():
        place, _, own = path.rpartition("/low_rank/")
        if place:
            found[path] = Foreign(_WRAPPER + _module(form, f"{place}/kernel", strip) + _OURS[own], transposed=True)
        else:
            (foreign,) = form.names([path]).values()
            found[path] = Foreign(_WRAPPER + foreign.name.removeprefix(strip), foreign.transposed)
    return found


def _form(task: Task, family: str | None) -> tuple[Format, str]:
    """How the base's tensors are called, and what an encoder that stands alone leaves out of their names."""
    pooler = has_layer(task.model, "pooler")
    kind: Family = family_of(config_of(task.model), family, pooler=pooler)
    head = head_of(task).task
    return kind.form(head), kind.prefix if head == "embedding" else ""


def _kept_whole(name: str) -> str:
    """The module that peft keeps beside its adapters: a classifier of two layers is one to it."""
    module = name.removeprefix(_WRAPPER).rpartition(".")[0]
    return "classifier" if module.startswith("classifier.") else module


def _module(form: Format, kernel: str, strip: str) -> str:
    (foreign,) = form.names([kernel]).values()
    return foreign.name.removesuffix(".weight").removeprefix(strip)


def _turned(array: Array, foreign: Foreign) -> Array:
    return np.ascontiguousarray(array.T if foreign.transposed else array)
