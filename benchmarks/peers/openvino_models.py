"""OpenVINO's side of `benchmarks.inference`: for an interpreter with openvino and nncf.

    PYTHON -m benchmarks.peers.openvino_models FILE --rows 1 --threads 1 [--static FILE]

Reads a classifier as `.onnx` with transformers' inputs, makes int8 models of it by NNCF (static with its preset for
transformers, and weights alone), and times an inference in each precision. Every length is a model of its own with
fixed shapes, which is what OpenVINO is fastest with. Several rows run on several threads in two ways: threads share an
inference, or each has a stream and rows of its own.
"""

import argparse
from collections.abc import Callable
from functools import cache
from timeit import timeit
from typing import Any

import nncf
import openvino as ov

from benchmarks.harness.contestants import answer, questions
from benchmarks.harness.passages import LENGTHS, TRANSFORMERS_INPUTS, Load, make_transformers_passage

# Mode -> the precision of float operations.
PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "static int8": "f32", "int8 weights": "f32"}


def main() -> None:
    """Answers each line of standard input, a mode, a length and a number of calls, with the seconds of a call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a float32 `.onnx` file")
    parser.add_argument("--static", help="the static int8 `.onnx` file of the model, in place of those that NNCF makes")
    parser.add_argument("--rows", type=int, required=True, help="passages of an inference")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    models = make_models(options.file, options.static)
    load = Load(options.rows, options.threads)
    modes = {precision + way: (precision, count) for precision in models for way, count in load.ways.items()}

    @cache
    def prepare(mode: str, length: int) -> Callable[[], Any]:
        precision, streams = modes[mode]
        return compile_model(models[precision], PRECISIONS[precision], load, length, streams)

    answer({"modes": list(modes), "versions": {"openvino": ov.__version__, "nncf": nncf.__version__}})
    for mode, length, calls in questions():
        answer(timeit(prepare(mode, length), number=calls) / calls)


def make_models(file: str, static: str | None) -> dict[str, ov.Model]:
    """The models of each mode."""
    core = ov.Core()
    whole = core.read_model(file)
    floats = {"float32": whole, "bfloat16": whole}
    if static:
        return {**floats, "static int8": core.read_model(static)}
    passages = nncf.Dataset([make_transformers_passage(length) for length in LENGTHS])
    quantized = nncf.quantize(
        core.read_model(file), passages, model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.MIXED
    )
    weights = nncf.compress_weights(core.read_model(file), mode=nncf.CompressWeightsMode.INT8_SYM)
    return {**floats, "static int8": quantized, "int8 weights": weights}


def compile_model(model: ov.Model, precision: str, load: Load, length: int, streams: int) -> Callable[[], Any]:
    """A call of the model on passages of a length, of which each stream takes a part."""
    rows = load.rows // streams
    fixed = model.clone()
    fixed.reshape({name: [rows, length] for name in TRANSFORMERS_INPUTS})
    options = {
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
        "NUM_STREAMS": streams,
        "INFERENCE_NUM_THREADS": load.threads,
        "INFERENCE_PRECISION_HINT": precision,
    }
    compiled = ov.Core().compile_model(fixed, "CPU", options)
    requests = [compiled.create_infer_request() for _ in range(streams)]
    inputs = make_transformers_passage(length, rows)
    if streams == 1:
        return lambda: requests[0].infer(inputs, share_inputs=True, share_outputs=True)

    def infer() -> None:
        for request in requests:
            request.start_async(inputs, share_inputs=True)
        for request in requests:
            request.wait()

    return infer


if __name__ == "__main__":
    main()
