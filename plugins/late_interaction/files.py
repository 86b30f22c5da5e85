"""Reads ColBERT's checkpoints: folders of PyLate, and those of the original code with the weight `linear`."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.core.folders import temporary_folder
from keras_bert.interop.configs import read_json
from keras_bert.interop.hub import find_checkpoint
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.interop.safetensors_files import open_tensors
from keras_bert.interop.sentence_transformers import MODULES_FILE, read_projection, read_prompts, read_settings
from keras_bert.options.data import Projection
from plugins.late_interaction.task import LateInteraction
from plugins.late_interaction.tokens import TokenRules

_METADATA_FILE, _LINEAR = "artifact.metadata", "linear.weight"
# Our rule -> its key in the metadata of the original code, and its value where a file has none.
_ORIGINAL = {
    "query_prefix": ("query_token_id", "[unused0]"),
    "document_prefix": ("doc_token_id", "[unused1]"),
    "query_length": ("query_maxlen", 32),
    "attend_to_expansion_tokens": ("attend_to_mask_tokens", False),
}
_LENGTH, _DOCUMENT_LENGTH = 180, "document_length"


def read_late_interaction(folder: str, **settings: Any) -> LateInteraction:
    """Reads a folder of PyLate, or one of the original ColBERT, or one on the Hugging Face hub.

    PyLate's folders have a Transformer, Dense modules and the rules of queries and documents; the original ones have
    the tensor `linear.weight` beside the encoder's, and `artifact.metadata`. Vectors equal PyLate's.

    Args:
        folder: the folder, or an address, see `keras_bert.from_hugging_face`.
        settings: arguments of `LateInteraction` that replace those of the files, such as `max_length`.

    Raises:
        ValueError: the folder holds other modules, or a file is damaged.
        FileNotFoundError: a file is missing.
    """
    root = find_checkpoint(folder)
    is_original = not (root / MODULES_FILE).is_file()
    projections, weights, rules, length = _read_original(root) if is_original else _read_pylate(root)
    encoder_root = root if is_original else root / str(read_json(root / MODULES_FILE, list)[0].get("path") or "")
    with temporary_folder() as alone:
        # Without the list of modules the folder is one of transformers.
        for file in encoder_root.iterdir():
            if file.is_file() and file.name != MODULES_FILE:
                (Path(alone) / file.name).symlink_to(file.resolve())
        base = from_hugging_face(alone, task="embedding")
        length = min(length, base.positions)
        of_files = {"max_length": length, "prompts": vars(read_prompts(root)), "rules": rules, **settings}
        task = LateInteraction.build(base.encoder, base.tokenizer, projections=projections, **of_files)
    for layer, arrays in zip(task.model.get_layer("projections").dense, weights, strict=True):
        layer.set_weights(arrays)
    return task


def _read_pylate(root: Path) -> tuple[list[Projection], list[list[Any]], dict[str, Any], int]:
    """The dense layers, their weights, the rules, and the most tokens of a document."""
    modules = read_json(root / MODULES_FILE, list)
    names = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if names[:1] != ["Transformer"] or len(names) < 2 or set(names[1:]) != {"Dense"}:
        raise ValueError(
            f"{root / MODULES_FILE} must list a Transformer and Dense modules, as PyLate does, got {names}"
        )
    folders = [root / str(module["path"]) for module in modules[1:]]
    weights = []
    for folder in folders:
        tensors = open_tensors(folder)
        kernel = [np.asarray(tensors[_LINEAR]).T]
        weights.append([*kernel, *([np.asarray(tensors["linear.bias"])] if "linear.bias" in tensors else [])])
    content = read_settings(root)
    rules = {field.name: content[field.name] for field in dataclasses.fields(TokenRules) if field.name in content}
    length = content.get(_DOCUMENT_LENGTH, _LENGTH)
    defaults = {"query_prefix": "[Q] ", "document_prefix": "[D] "}
    return [read_projection(folder / "config.json") for folder in folders], weights, {**defaults, **rules}, length


def _read_original(root: Path) -> tuple[list[Projection], list[list[Any]], dict[str, Any], int]:
    """See `_read_pylate`."""
    tensors = open_tensors(root)
    if _LINEAR not in tensors:
        raise ValueError(f"{root} must hold the modules of PyLate or a tensor {_LINEAR}, as of the original ColBERT")
    weight = np.asarray(tensors[_LINEAR])
    file = root / _METADATA_FILE
    content = json.loads(file.read_text()) if file.is_file() else {}
    rules = {rule: content.get(key, default) for rule, (key, default) in _ORIGINAL.items()}
    projection = Projection(units=len(weight), activation="none", use_bias=False)
    return [projection], [[weight.T]], rules, content.get("doc_maxlen", _LENGTH)
