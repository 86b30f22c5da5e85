"""OpenVINO's side of `benchmarks.inference`: for an interpreter with openvino and nncf.

    PYTHON -m benchmarks.peers.openvino_models FILE --rows 1 --threads 1

Reads transformers' classifier as `.onnx`, makes int8 models of it by NNCF (static with its preset for transformers, and
weights alone), and times an inference in each precision. Every length is a model of its own with fixed shapes, which is
what OpenVINO is fastest with.
"""

import argparse
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import nncf
import openvino as ov

from benchmarks.harness.contestants import answer, questions
from benchmarks.harness.passages import LENGTHS, TRANSFORMERS_INPUTS, make_transformers_passage

# Mode -> the precision of float operations.
PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "static int8": "f32", "int8 weights": "f32"}


def main() -> None:
    """Answers each line of standard input, a mode, a length and a number of calls, with the seconds of a call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="transformers' model as `.onnx`")
    parser.add_argument("--rows", type=int, required=True, help="passages of an inference")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    models = make_models(options.file)

    @cache
    def prepare(mode: str, length: int) -> Callable[[], Any]:
        return compile_model(models[mode], PRECISIONS[mode], (options.rows, length), options.threads)

    answer({"modes": list(models), "versions": {"openvino": ov.__version__, "nncf": nncf.__version__}})
    for mode, length, calls in questions():
        infer = prepare(mode, length)
        start = time.perf_counter()
        for _ in range(calls):
            infer()
        answer((time.perf_counter() - start) / calls)


def make_models(file: str) -> dict[str, ov.Model]:
    """The models of each mode."""
    core = ov.Core()
    passages = nncf.Dataset([make_transformers_passage(length) for length in LENGTHS])
    static = nncf.quantize(
        core.read_model(file), passages, model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.MIXED
    )
    weights = nncf.compress_weights(core.read_model(file), mode=nncf.CompressWeightsMode.INT8_SYM)
    whole = core.read_model(file)
    return {"float32": whole, "bfloat16": whole, "static int8": static, "int8 weights": weights}


def compile_model(model: ov.Model, precision: str, shape: tuple[int, int], threads: int) -> Callable[[], Any]:
    """A call of the model on passages of this shape: rows, length."""
    rows, length = shape
    fixed = model.clone()
    fixed.reshape({name: [rows, length] for name in TRANSFORMERS_INPUTS})
    options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision}
    request = ov.Core().compile_model(fixed, "CPU", options).create_infer_request()
    inputs = make_transformers_passage(length, rows)
    return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)


if __name__ == "__main__":
    main()
