"""The transformers peer of `benchmarks.inference`; needs torch, transformers, onnx, onnxruntime and sympy.

    PYTHON -m benchmarks.peers.transformers_onnx FOLDER SETTINGS

Writes `.onnx` files of a classifier with random weights: PyTorch's export, the same after ONNX Runtime's transformer
optimizer, and both after ONNX Runtime's dynamic and static int8 quantizers. Attention is exported as separate
operations, because the optimizer recognizes that form.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic, quantize_static
from onnxruntime.transformers.optimizer import optimize_model

from benchmarks.harness.passages import LENGTHS, TRANSFORMERS_INPUTS, make_transformers_passage

# The operations that the optimizer adds have no types; 1 is float32 in ONNX.
_FLOATS = {"DefaultTensorType": 1}


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", type=json.loads, help="arguments of `transformers.BertConfig`, as JSON")
    options = parser.parse_args()
    logging.disable()
    plain, optimized = (options.folder / f"{name}.onnx" for name in ("float32", "float32, optimizer"))
    export(options.settings, plain)
    heads, width = (options.settings[name] for name in ("num_attention_heads", "hidden_size"))
    optimize_model(str(plain), "bert", num_heads=heads, hidden_size=width).save_model_to_file(str(optimized))
    for source, mark in ((plain, ""), (optimized, ", optimizer")):
        quantize_dynamic(
            source, options.folder / f"dynamic int8{mark}.onnx", weight_type=QuantType.QInt8, extra_options=_FLOATS
        )
        quantize_static(
            source,
            options.folder / f"static int8{mark}.onnx",
            Passages(),
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul", "Attention"],
            extra_options=_FLOATS,
        )


def export(settings: dict[str, int], file: Path) -> None:
    """Exports a classifier with PyTorch, for any batch size and length."""
    torch.manual_seed(0)
    config = transformers.BertConfig(**settings, attn_implementation="eager", return_dict=False)
    model = transformers.BertForSequenceClassification(config).eval()
    given = torch.ones((1, 16), dtype=torch.int64)
    torch.onnx.export(
        model,
        (),
        file,
        kwargs=dict.fromkeys(TRANSFORMERS_INPUTS, given),
        input_names=list(TRANSFORMERS_INPUTS),
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in TRANSFORMERS_INPUTS},
        opset_version=17,
        dynamo=False,
    )


class Passages:
    """Calibration data for static quantization."""

    def __init__(self) -> None:
        self._left = [make_transformers_passage(length) for length in LENGTHS]

    def get_next(self) -> dict[str, Any] | None:
        """Returns the next passage; None after the last one."""
        return self._left.pop() if self._left else None


if __name__ == "__main__":
    main()
