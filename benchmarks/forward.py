"""The forward pass of the Keras encoder against keras-hub's BertBackbone and transformers' BertModel, in float32.

    python -m benchmarks.forward --peers-python PATH

PATH is a Python interpreter with keras-hub, tensorflow, transformers and torch. Every contestant lives in a process
of its own and is timed one round at a time, in turn, so that a busy machine hits all alike. The weights are random:
they do not matter for speed. In a "padded" batch the rows hold 16 tokens or more, at random; the others are full.
keras-hub's GELU is the tanh approximation, that of the others the exact one. "compile_task" is what
`compile_task` makes of a task: the encoder in LiteRT, row after row.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from timeit import timeit
from typing import Any

import numpy as np

from benchmarks.harness.bert_shapes import SHAPES, Shape
from benchmarks.harness.contestants import Contestant, answer, questions, turns
from benchmarks.harness.masked_batches import VOCABULARY

MODELS = ("MiniLM", "BERT-base")
CALLS = {"1x32": 20, "32x128": 1, "32x128 padded": 1}
OURS, KERAS_HUB, TRANSFORMERS = "ours", "keras-hub", "transformers"

Batch = dict[str, np.ndarray[Any, Any]]
# Mode -> from a batch to a call of the model on it.
Modes = dict[str, Callable[[Batch], Callable[[], Any]]]
Times = dict[tuple[str, str], list[float]]


def main() -> None:
    """Prints a table for each model, or answers the process that does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out, which needs a C++ compiler")
    parser.add_argument("--serve", nargs=2, metavar=("CONTESTANT", "MODEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        contestant, model = options.serve
        serve(contestant, model, options.threads, compiled=not options.no_compile)
        return
    for model in options.models:
        contestants = {name: start(name, model, options) for name in (OURS, KERAS_HUB, TRANSFORMERS)}
        times = {shape: race(contestants, shape, options.rounds) for shape in CALLS}
        print(f"\n{model}, {SHAPES[model]}, {options.threads} threads: ms, median (minimum)\n")
        print_table(times)
        for name, contestant in contestants.items():
            print(f"{name}: {contestant.hello['versions']}")
            contestant.stop()


def start(name: str, model: str, options: argparse.Namespace) -> Contestant:
    """A process that holds one model and times it when asked."""
    python = sys.executable if name == OURS else options.peers_python
    arguments = ["benchmarks.forward", "--serve", name, model, "--threads", str(options.threads)]
    return Contestant(python, [*arguments, *(["--no-compile"] if options.no_compile else [])])


def race(contestants: dict[str, Contestant], shape: str, rounds: int) -> Times:
    """(contestant, mode) -> milliseconds of every round."""
    entries = [(name, mode) for name, contestant in contestants.items() for mode in contestant.hello["modes"]]
    times = turns({(name, mode): partial(contestants[name].ask, [mode, shape]) for name, mode in entries}, rounds)
    return {entry: [1000 * seconds for seconds in of_entry] for entry, of_entry in times.items()}


def print_table(times: dict[str, Times]) -> None:
    """A markdown table: contestants and their modes down, shapes across, the ratio of the best modes below."""
    print("| contestant | mode |", " | ".join(times), "|")
    print("|---|---|" + "---:|" * len(times))
    for entry in next(iter(times.values())):
        cells = [f"{statistics.median(row[entry]):.2f} ({min(row[entry]):.2f})" for row in times.values()]
        print("|", " | ".join([*entry, *cells]), "|")
    ratios = []
    for row in times.values():
        medians = {entry: statistics.median(values) for entry, values in row.items()}
        mine = min(value for (name, _), value in medians.items() if name == OURS)
        theirs = min(value for (name, _), value in medians.items() if name != OURS)
        ratios.append(f"{theirs / mine:.2f}")
    print("| fastest peer / ours | best mode of each |", " | ".join(ratios), "|\n")


def serve(contestant: str, model: str, threads: int, compiled: bool) -> None:
    """Answers each line of standard input, a mode and a shape, with the seconds of one call."""
    if contestant == TRANSFORMERS:
        modes, versions = serve_transformers(SHAPES[model], threads, compiled)
    else:
        modes, versions = serve_keras(contestant, SHAPES[model], threads)
    answer({"versions": versions, "modes": list(modes)})
    ready: dict[tuple[str, str], Callable[[], Any]] = {}
    for mode, shape in questions():
        if (mode, shape) not in ready:
            ready[mode, shape] = modes[mode](make_batch(shape))
            ready[mode, shape]()  # traces and compiles
        answer(timeit(ready[mode, shape], number=CALLS[shape]) / CALLS[shape])


def make_batch(shape: str) -> Batch:
    """Random tokens under our input names, each int32 (batch, length)."""
    size, _, padded = shape.partition(" ")
    rows, length = map(int, size.split("x"))
    random = np.random.default_rng(0)
    lengths = random.integers(16, length + 1, rows) if padded else np.full(rows, length)
    mask = (np.arange(length) < lengths[:, None]).astype("int32")
    tokens = random.integers(5, VOCABULARY, (rows, length), dtype=np.int32) * mask
    return {"token_ids": tokens, "segment_ids": np.zeros_like(tokens), "padding_mask": mask}


def serve_keras(contestant: str, shape: Shape, threads: int) -> tuple[Modes, dict[str, str]]:
    """Ours or keras-hub's, called as Keras users do."""
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    if contestant == OURS:
        from keras_bert.models.encoder import build_encoder

        model = build_encoder(shape.config())
    else:
        import keras_hub

        model = keras_hub.models.BertBackbone(**shape.keras_hub())
        versions["keras-hub"] = keras_hub.__version__

    def compiled(jit: bool) -> Callable[[Batch], Callable[[], Any]]:
        call = tf.function(lambda inputs: model(inputs, training=False), jit_compile=jit)

        def prepare(batch: Batch) -> Callable[[], Any]:
            inputs = {name: tf.constant(array) for name, array in batch.items()}
            return lambda: call(inputs)

        return prepare

    modes: Modes = {
        "predict_on_batch": lambda batch: lambda: model.predict_on_batch(batch),
        "tf.function": compiled(jit=False),
        "tf.function, XLA": compiled(jit=True),
    }
    if contestant == OURS:
        modes["compile_task"] = lambda batch: prepare_file(model, batch, threads)
    return modes, versions


def prepare_file(model: Any, batch: Batch, threads: int) -> Callable[[], Any]:
    """The encoder's states of tokens from LiteRT."""
    import keras

    from keras_bert.core.folders import temporary_folder
    from keras_bert.export.runtimes import TFLiteModel
    from keras_bert.export.tflite import export_tflite

    with temporary_folder() as folder:
        states = keras.Model(model.input, model.output["sequence_output"])
        export_tflite(states, f"{folder}/model.tflite", [batch["token_ids"].shape[1]])
        compiled = TFLiteModel(f"{folder}/model.tflite", threads)
    return lambda: compiled.predict_on_batch(batch)


def serve_transformers(shape: Shape, threads: int, compiled: bool) -> tuple[Modes, dict[str, str]]:
    """BertModel in evaluation mode with its default attention."""
    import torch
    import transformers

    torch.set_num_threads(threads)
    model = transformers.BertModel(transformers.BertConfig(**shape.transformers())).eval()

    def prepare(batch: Batch, call: Callable[..., Any]) -> Callable[[], Any]:
        names = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
        inputs = {theirs: torch.from_numpy(batch[mine]).long() for theirs, mine in names.items()}

        def run() -> Any:
            with torch.inference_mode():
                return call(**inputs)

        return run

    modes: Modes = {"eager": lambda batch: prepare(batch, model)}
    if compiled:
        modes["torch.compile"] = lambda batch: prepare(batch, torch.compile(model, dynamic=False))
    return modes, {"torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    main()
