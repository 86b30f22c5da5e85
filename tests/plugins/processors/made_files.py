"""Exported folders whose `.onnx` file is one product of unsigned by signed bytes; programs in place of emulators."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from keras_bert.export.runtimes import Output
from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components.tuning_job import LENGTH, WORDS

PIECES = (*SPECIAL_TOKENS, *WORDS, "?")
LABELS = ("animal", "plant")
WIDTH = 64


class _NoModel:
    """The description of a model, for the settings of its task."""

    name, max_length, output = "none", LENGTH, Output((None, len(LABELS)))


def write_folder(folder: Path, largest: int, name: str = "model.onnx") -> Path:
    """A pushed folder; the kernel of its file reaches from 0 to `largest`, and pairs above 64 saturate on AVX2."""
    folder.mkdir(exist_ok=True)
    tokenizer = EagerWordPiece(list(PIECES), lowercase=True)
    Classification(_NoModel(), tokenizer, labels=LABELS, max_length=LENGTH).save_settings(folder)
    chance = np.random.default_rng(0)
    table = chance.integers(200, 256, (len(PIECES), WIDTH)).astype(np.uint8)
    kernel = chance.integers(0, largest + 1, (WIDTH, len(LABELS))).astype(np.int8)
    constants = {"table": table, "kernel": kernel, "axes": np.array([1]), "last": np.array([-1])}
    nodes = [
        helper.make_node("Gather", ["table", "token_ids"], ["states"]),
        helper.make_node("MatMulInteger", ["states", "kernel"], ["products"]),
        helper.make_node("Cast", ["products"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["padding_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["floats", "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axes"], ["logits"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])
        for name in ("token_ids", "padding_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(LABELS)])]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "products", inputs, outputs, weights)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / name)
    return folder


def write_emulator(folder: Path, body: str = "", file: Path | None = None) -> Path:
    """`qemu-x86_64` in a folder for `PATH`, which runs a file on this machine, or another one in its place."""
    # The arguments: -cpu NAME -E VARIABLE=VALUE PYTHON WORKER FILE, or -cpu NAME PYTHON -S -c CODE.
    chosen = '"$7"' if file is None else f'"{file}"'
    run = f'[ "$3" = -E ] || exit 0\nexport "$4"\nexec {sys.executable} "$6" {chosen}\n'
    folder.mkdir(exist_ok=True)
    program = folder / "qemu-x86_64"
    program.write_text(f"#!/bin/sh\n{body or run}")
    program.chmod(0o755)
    return folder
