"""Training with masked tokens by Keras' `model.fit` on JAX, beside transformers with `torch.compile`.

    KERAS_BACKEND=jax python -m benchmarks.jax_training --shape BERT-base --rows 64 --length 128 [--torch-python PATH]

This interpreter has JAX (`make test-backends` makes one without a GPU, .venv-jax); PATH is one with torch and
transformers, and without it the table only has our lines. Each contestant is a process of its own, on the GPU if its
library sees one, else on the CPU, and all take turns. With several devices ours is `keras.distribution.DataParallel`.

A step of ours is one of `fit` over NumPy arrays: copies to the device, AdamW with decay 0.01, gradients clipped at a
global norm of 1, dropout 0.1, the scores of 20 masked tokens a row, or of all tokens as transformers' heads compute
them. A loss is read once in `--steps` steps of either. bfloat16 is Keras' mixed precision and `torch.autocast`; graphs
of CUDA are tried where there is a GPU. FLOPs are those of `benchmarks.train`, with the scores that a contestant
computes; the peak is that of a product of two square matrices by JAX on one device, in the same rounds, times the
number of devices.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from typing import Any, get_args

from benchmarks.harness.bert_shapes import SHAPES, Shape
from benchmarks.harness.contestants import Contestant, answer, take_turns
from benchmarks.harness.masked_batches import PREDICTIONS, Step, make_batch, score_everywhere, serve_steps
from keras_bert.options.training import Precision

OURS, TRANSFORMERS = "keras on jax", "transformers"
TINY, EVERYWHERE = "L2 H128", " all tokens"
# Both processes share the GPU's memory.
_SHARED_MEMORY = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def main() -> None:
    """Prints a table, or answers the process that does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default=TINY)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", nargs="+", choices=("float32", "bfloat16"), default=["bfloat16"])
    parser.add_argument("--torch-python", help="an interpreter with torch and transformers")
    parser.add_argument("--matrix", type=int, default=2048, help="rows of the matrices that give the peak")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a round of each is, at least")
    parser.add_argument("--steps", type=int, default=20, help="of a call of fit, whose beginning and end count, too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape = SHAPES[options.shape]._replace(rows=options.rows, length=options.length)
    if options.serve:
        serve(shape, options)
        return
    os.environ.update(_SHARED_MEMORY)
    print_table(options.shape, shape, *race(shape, options))


def race(shape: Shape, options: argparse.Namespace) -> tuple[dict[tuple[str, str], float], dict[str, Any]]:
    """Seconds a step, the median of all rounds, of each contestant and mode; and what each contestant is."""
    arguments = ["--shape", options.shape, "--rows", str(shape.rows), "--length", str(shape.length)]
    arguments += ["--matrix", str(options.matrix), "--steps", str(options.steps)]
    serving = ["benchmarks.jax_training", "--serve", *arguments]
    seconds = ["--seconds", str(options.seconds)]
    entries = [(OURS, mode) for name in options.precision for mode in (name, name + EVERYWHERE, f"peak {name}")]
    with tempfile.TemporaryDirectory() as folder:
        contestants = {OURS: Contestant(sys.executable, [*serving, *seconds], backend="jax")}
        if options.torch_python:
            batch = ["--rows", str(shape.rows), "--length", str(shape.length), *seconds]
            peer = ["benchmarks.peers.transformers_masked_tokens", "bert", json.dumps(shape.transformers()), folder]
            contestants[TRANSFORMERS] = Contestant(options.torch_python, [*peer, *batch, "--steps", str(options.steps)])
            ways = ["", " compiled", *([" graphs"] if contestants[TRANSFORMERS].hello["device"] == "cuda" else [])]
            entries += [(TRANSFORMERS, mode + way) for mode in options.precision for way in ways]
        times = take_turns(contestants, entries, options.rounds)
        for contestant in contestants.values():
            contestant.stop()
    medians = {entry: statistics.median(wall for wall, _ in values) for entry, values in times.items()}
    for name, mode in medians:
        if not mode.startswith("peak "):
            medians[name, mode] /= options.steps
    return medians, {name: contestant.hello for name, contestant in contestants.items()}


def print_table(name: str, shape: Shape, medians: dict[tuple[str, str], float], hellos: dict[str, Any]) -> None:
    """A markdown table: one line for each contestant and mode."""
    devices = hellos[OURS]["devices"]
    products = 2 * devices * hellos[OURS]["matrix"] ** 3
    peaks = {
        mode.removeprefix("peak "): products / seconds
        for (_, mode), seconds in medians.items()
        if mode.startswith("peak ")
    }
    batch = f"{shape.rows} x {shape.length} tokens"
    print(f"\n{name}, {batch}, {shape.flops() / 1e9:.2f} GFLOP a step, on {devices} device(s)\n")
    print("| contestant | mode | ms a step | tokens/s | share of peak |")
    print("|---|---|---:|---:|---:|")
    for (contestant, mode), seconds in medians.items():
        if not mode.startswith("peak "):
            everywhere = contestant == TRANSFORMERS or mode.endswith(EVERYWHERE)
            share = shape.flops(shape.length if everywhere else PREDICTIONS) / seconds / peaks[mode.split()[0]]
            print(f"| {contestant} | {mode} | {1000 * seconds:.1f} | {shape.tokens / seconds:,.0f} | {share:.0%} |")
    print("\npeak, GFLOP/s:", ", ".join(f"{precision} {peak / 1e9:,.0f}" for precision, peak in peaks.items()))
    for contestant, hello in hellos.items():
        print(f"{contestant}: {hello}")


def serve(shape: Shape, options: argparse.Namespace) -> None:
    """Answers each line of standard input, a mode, with the seconds of one step of it, or of one product."""
    import jax
    import keras

    if len(jax.devices()) > 1:
        keras.distribution.set_distribution(keras.distribution.DataParallel())
    versions = {"jax": jax.__version__, "keras": keras.__version__}
    answer(
        {**versions, "device": jax.devices()[0].device_kind, "devices": len(jax.devices()), "matrix": options.matrix}
    )

    def prepare(mode: str) -> Step:
        if mode.startswith("peak "):
            return multiply(mode.removeprefix("peak "), options.matrix)
        precision = next(choice for choice in get_args(Precision) if choice == mode.split()[0])
        return make_fit(shape, precision, options.steps, everywhere=mode.endswith(EVERYWHERE))

    serve_steps(prepare, options.seconds)


def multiply(precision: str, matrix: int) -> Step:
    """The product of two square matrices on one device, by its own clock: what it can do at most."""
    import jax

    factors = jax.random.normal(jax.random.key(0), (matrix, matrix), precision)
    product = jax.jit(lambda left, right: left @ right)
    return lambda: float(product(factors, factors)[0, 0])


def make_fit(shape: Shape, precision: Precision, steps: int, everywhere: bool = False) -> Step:
    """A call of `fit` of so many steps, with the scores of masked tokens or of all; returns the mean loss, in nats."""
    import keras

    from keras_bert.models.encoder import build_encoder
    from keras_bert.models.optimizer import adamw
    from keras_bert.models.pretraining import build_pretraining
    from keras_bert.training.precision import computing_in

    model = build_pretraining(build_encoder(shape.config(), pooler=False), next_sentence=False)
    batch = make_batch(steps * shape.rows, shape.length)
    batch = score_everywhere(batch) if everywhere else batch
    inputs = {name: batch[name] for name in model.input}
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile(adamw(1e-4, steps=100_000, clip_norm=1.0), {"masked_tokens": loss})
    weights = {"masked_tokens": batch["mask_weights"]}

    def step() -> float:
        with computing_in(model, precision):
            labels = {"masked_tokens": batch["mask_ids"]}
            history = model.fit(inputs, labels, sample_weight=weights, batch_size=shape.rows, shuffle=False, verbose=0)
        return float(history.history["loss"][-1])

    return step


if __name__ == "__main__":
    main()
