"""Reads and writes LoRA adapters of Hugging Face's peft: `adapter_config.json` and `adapter_model.safetensors`.

Keys and names are those of `LoraConfig` and `get_peft_model_state_dict` of huggingface/peft, version 0.21.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.adaptation.adapter import Adapter
from keras_bert.core.folders import staged_files
from keras_bert.families.hugging_face import TASK_NAMES, Family
from keras_bert.families.registry import family_of
from keras_bert.interop.configs import ADAPTER_FILE, check_only, read_json, write_json
from keras_bert.interop.heads import head_of
from keras_bert.interop.names import Foreign, TensorNames, hugging_face_format
from keras_bert.interop.safetensors_files import open_file, save_tensors
from keras_bert.interop.weights import Array, Tensors, as_float32
from keras_bert.layers.regression_head import folded_heads, reset_scale
from keras_bert.models.encoder import config_of, has_layer
from keras_bert.options.adaptation import Lora
from keras_bert.tasks.base import Task

WEIGHTS_FILE = "adapter_model.safetensors"

# The prefix that peft adds to the names of the wrapped model.
_WRAPPER = "base_model.model."

# Keys that change the outputs in peft -> the one supported value.
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
# The values of `init_lora_weights` with which the base keeps its weights; PiSSA, OLoRA, CorDA, LoftQ and LoRA-GA
# subtract the initial adapter from them, or quantize them.
_INITIALIZATIONS = (None, True, False, "gaussian", "orthogonal", "eva")
# The keys that every version of peft has.
_WRITTEN = ("peft_type", "bias", "fan_in_fan_out")
_MATRICES = {"down": ".lora_A.weight", "up": ".lora_B.weight"}


def to_peft(task: Task, folder: str | os.PathLike[str], *, family: str | None = None, base: str = "") -> None:
    """Writes a task's LoRA adapter and head for `PeftModel.from_pretrained`; both files or none.

    Args:
        task: a task with a LoRA adapter that is not merged.
        folder: the folder of the files; it is made if necessary.
        family: the `model_type` of the base, see `to_hugging_face`.
        base: the name or path of the base, for peft's loaders.

    Raises:
        ValueError: the task has no LoRA adapter, or transformers has no such model.

    Examples:
        >>> _ = task.adapt(Lora(rank=2))
        >>> to_peft(task, "sentiment-peft")
        >>> sorted(os.listdir("sentiment-peft"))
        ['adapter_config.json', 'adapter_model.safetensors']
    """
    if task.adapter is None or not isinstance(task.adapter.adaptation, Lora):
        kind = None if task.adapter is None else task.adapter.adaptation.kind
        raise ValueError(f"{type(task).__name__}.adapter must be of kind 'lora' to be written for peft, got {kind!r}")
    lora = task.adapter.adaptation
    with task.adapter.active():
        names = _names(task, family)
        weights, folded = task.adapter.weights(), folded_heads(task.model)
        arrays = {path: folded.get(path, weight.numpy()) for path, weight in weights.items()}
        tensors = {names[path].name: _transpose(array, names[path]) for path, array in arrays.items()}
    modules = sorted({_saved_module(name) for name in tensors if ".lora_" not in name})
    targets = sorted({name.removeprefix(_WRAPPER).partition(".lora_")[0] for name in tensors if ".lora_" in name})
    config = {
        **{key: _ONLY[key] for key in _WRITTEN},
        "base_model_name_or_path": base or None,
        "task_type": TASK_NAMES[head_of(task).task].peft_type,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "target_modules": targets,
        "modules_to_save": modules or None,
        "inference_mode": True,
    }
    with staged_files(Path(folder)) as staging:
        write_json(staging / ADAPTER_FILE, config)
        save_tensors(tensors, staging / WEIGHTS_FILE)


def from_peft(folder: str | os.PathLike[str], task: Task, *, family: str | None = None) -> Adapter:
    """Reads a LoRA adapter of peft into a task, and its head if the files have one.

    Args:
        folder: a folder with `adapter_config.json` and `adapter_model.safetensors`.
        task: a task whose encoder is the one with which the adapter was trained. This is not checked.
        family: the `model_type` of the base, see `to_hugging_face`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the adapter is not LoRA, has an unsupported setting, or does not fit the task.

    Examples:
        >>> _ = task.adapt(Lora(rank=2))
        >>> to_peft(task, "sentiment-peft")
        >>> task.drop_adapter()
        >>> from_peft("sentiment-peft", task).adaptation.rank
        2
    """
    folder = Path(folder)
    if not (folder / WEIGHTS_FILE).is_file():
        raise FileNotFoundError(f"{folder} is not an adapter of peft's: it has no {WEIGHTS_FILE}")
    content = read_json(folder / ADAPTER_FILE)
    check_only(folder / ADAPTER_FILE, content, _ONLY)
    initialization = content.get("init_lora_weights")
    is_flag = any(initialization is value for value in _INITIALIZATIONS[:3])
    if not is_flag and initialization not in _INITIALIZATIONS[3:]:
        raise ValueError(
            f"{folder / ADAPTER_FILE}: init_lora_weights must be true, false or one of {_INITIALIZATIONS[3:]}, got "
            f"{initialization!r}, which changes the base's weights: convert the adapter with peft, "
            "`model.save_pretrained(folder, path_initial_model_for_weight_conversion=...)`, or merge it into its base"
        )
    tensors = open_file(folder / WEIGHTS_FILE)
    adapter = task.adapt(_read_lora(folder / ADAPTER_FILE, content, task, tensors, family))
    try:
        _assign_weights(adapter, _names(task, family), tensors, folder / WEIGHTS_FILE)
    except ValueError:
        task.drop_adapter()
        raise
    if any(".lora_" not in name for name in tensors):
        reset_scale(task.model)  # the scale of the file's head is in its weights
    return adapter


def _assign_weights(adapter: Adapter, names: Mapping[str, Foreign], tensors: Tensors, path: Path) -> None:
    """Assigns the weights of the adapter, and the weights of the head if the file has them."""
    weights = {names[our_path].name: (weight, names[our_path]) for our_path, weight in adapter.weights().items()}
    unmatched = [name for name in weights if name not in tensors and ".lora_" in name]
    unmatched += [name for name in tensors if name not in weights]
    if unmatched:
        raise ValueError(f"{path} does not fit the task: {unmatched[0]!r} is only in the file, or only in the task")
    for name, (weight, foreign) in weights.items():
        if name not in tensors:
            continue
        value = _transpose(as_float32(tensors[name], name, str(path)), foreign)
        if value.shape != tuple(weight.shape):
            raise ValueError(
                f"{path}: tensor {name!r}, transposed, must have the shape {weight.shape}, got {value.shape}"
            )
        weight.assign(value)


def _read_lora(
    path: Path, content: Mapping[str, Any], task: Task, tensors: Mapping[str, Array], family: str | None
) -> Lora:
    """The settings of the adapter. Its layers are those of the tensors, as `target_modules` may be any pattern."""
    for key in ("r", "lora_alpha"):
        if isinstance(content.get(key), bool) or not isinstance(content.get(key), int | float):
            raise ValueError(f"{path}: {key} must be a number, got {content.get(key)!r}")
    tensor_names, prefix = _base_names(task, family)
    kernels = [weight.path for weight in task.encoder.weights if weight.path.endswith("/kernel")]
    stems = {
        _module(tensor_names, kernel, prefix): kernel.removesuffix("/kernel")
        for kernel in kernels
        if kernel.startswith("block")
    }
    modules = {name.removeprefix(_WRAPPER).partition(".lora_")[0] for name in tensors if ".lora_" in name}
    unknown = sorted(modules - stems.keys())
    if unknown or not modules:
        module = unknown[0] if unknown else None
        raise ValueError(f"{path}: adapters must belong to layers of the encoder's blocks, got {module!r}")
    layers = tuple(sorted({stems[module].partition("/")[2] for module in modules}))
    rate = content.get("lora_dropout") or 0.0
    return Lora(rank=int(content["r"]), alpha=float(content["lora_alpha"]), dropout=float(rate), layers=layers)


def _names(task: Task, family: str | None) -> dict[str, Foreign]:
    """Our weight of a task's adapter or head -> its name in peft, where the matrices of LoRA are transposed."""
    tensor_names, prefix = _base_names(task, family)
    assert task.adapter is not None
    names = {}
    for path in task.adapter.weights():
        layer, _, matrix = path.rpartition("/low_rank/")
        if layer:
            module = _module(tensor_names, f"{layer}/kernel", prefix)
            names[path] = Foreign(_WRAPPER + module + _MATRICES[matrix], transposed=True)
        else:
            (foreign,) = tensor_names.names([path]).values()
            names[path] = Foreign(_WRAPPER + foreign.name.removeprefix(prefix), foreign.transposed)
    return names


def _base_names(task: Task, family: str | None) -> tuple[TensorNames, str]:
    """The names of the base model's tensors, and the prefix that they lack in a model without a head."""
    kind: Family = family_of(config_of(task.model), family, pooler=has_layer(task.model, "pooler"))
    head = head_of(task).task
    return hugging_face_format(kind, head), kind.prefix if head == "embedding" else ""


def _saved_module(name: str) -> str:
    """The module that peft saves beside its adapters; a classifier of two layers is one module."""
    module = name.removeprefix(_WRAPPER).rpartition(".")[0]
    return "classifier" if module.startswith("classifier.") else module


def _module(tensor_names: TensorNames, kernel: str, prefix: str) -> str:
    (foreign,) = tensor_names.names([kernel]).values()
    return foreign.name.removesuffix(".weight").removeprefix(prefix)


def _transpose(array: Array, foreign: Foreign) -> Array:
    return np.ascontiguousarray(array.T if foreign.transposed else array)
