"""Files for ONNX Runtime on a GPU of NVIDIA, beside transformers' own model compiled by PyTorch.

    PYTHON -m benchmarks.onnx_gpu FILE.onnx [FILE.onnx ...] [--transformers SETTINGS]

The interpreter has onnxruntime-gpu, and for SETTINGS, those of `transformers.BertConfig` as JSON, torch and
transformers. Milliseconds a batch, the medians of alternating rounds; ids are copied to the GPU and logits back.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from timeit import timeit
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.harness.contestants import turns
from benchmarks.harness.passages import TRANSFORMERS_INPUTS, make_passage, make_transformers_passage

BATCHES, CALLS, ROUNDS = ((1, 32), (1, 128), (32, 128), (256, 128)), 20, 7
# Takes rows and length, and returns a call that ends when the logits are here.
Opener = Callable[[int, int], Callable[[], Any]]


def main() -> None:
    """Prints a table: a line for each contestant, a column for each batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--transformers", type=json.loads, default={}, help="settings of its model, as JSON")
    options = parser.parse_args()
    onnxruntime.preload_dlls()  # CUDA's libraries, from packages of Python
    contestants: dict[str, Opener] = {file: open_file(file) for file in options.files}
    if options.transformers:
        for precision in ("bfloat16", "float16"):
            contestants[f"transformers, {precision} graphs"] = open_theirs(options.transformers, precision)
    print(f"onnxruntime {onnxruntime.__version__}\n")
    print("| ms a batch |", " | ".join(f"{rows} x {length}" for rows, length in BATCHES), "|")
    print("|---|" + "---:|" * len(BATCHES))
    columns = []
    for rows, length in BATCHES:
        calls = {name: partial(timeit, opener(rows, length), number=CALLS) for name, opener in contestants.items()}
        columns.append(turns(calls, ROUNDS))
    for name in contestants:
        milliseconds = (1000 * statistics.median(column[name]) / CALLS for column in columns)
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in milliseconds), "|")


def open_file(file: str) -> Opener:
    """A session of its own, all on the GPU: ours by the names of our inputs, transformers' by theirs."""
    session = onnxruntime.InferenceSession(file, providers=["CUDAExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        raise SystemExit(f"{file} does not run on the GPU: {session.get_providers()}")
    types = {given.name: np.int64 if "int64" in given.type else np.int32 for given in session.get_inputs()}
    make = make_transformers_passage if set(types) <= set(TRANSFORMERS_INPUTS) else make_passage

    def open_batch(rows: int, length: int) -> Callable[[], Any]:
        passage = {name: values.astype(types[name]) for name, values in make(length, rows).items() if name in types}
        return lambda: session.run(None, passage)

    return open_batch


def open_theirs(settings: dict[str, int], precision: str) -> Opener:
    """The classifier of transformers in bfloat16 or float16, compiled to graphs of CUDA."""
    import torch
    import transformers

    model = transformers.BertForSequenceClassification(transformers.BertConfig(**settings)).eval()
    compiled = torch.compile(model.to("cuda", getattr(torch, precision)), dynamic=False, mode="reduce-overhead")

    def open_batch(rows: int, length: int) -> Callable[[], Any]:
        passage = {name: torch.from_numpy(values) for name, values in make_transformers_passage(length, rows).items()}

        def call() -> Any:
            with torch.inference_mode():
                return compiled(**{name: values.to("cuda") for name, values in passage.items()}).logits.float().cpu()

        return call

    return open_batch


if __name__ == "__main__":
    main()
