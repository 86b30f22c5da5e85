"""A step of pre-training with masked tokens against keras-hub's `BertMaskedLM`.

    python -m benchmarks.train --peers-python PATH
    python -m benchmarks.train --family bert roberta --transformers-python PATH [--peers-python PATH]

PATH is a Python interpreter with keras-hub and tensorflow, or with transformers and torch. The second command compares
families (`benchmarks/family_race.py`); the rest of this text describes the first.

Both contestants run in processes of their own and are timed in alternating rounds, so that other load slows both
alike; processor time of all cores depends on it least. Tokens are random and rows are full, without padding. Dropout
0.1 everywhere, AdamW with decay 0.01, gradients clipped at a global norm of 1. This project runs `TrainingStep`,
keras-hub the function that its `fit` calls, with its default loss and metric. "XLA" compiles the whole step, "XLA
parts" the operations between matrix products.

FLOPs are those of Chowdhery et al. 2022 (PaLM), appendix B, 6 N + 12 L H Q T for each token, where N counts the weights
of the blocks' matrix products; the masked-token head is counted for its predictions only. Recomputed operations
are not counted. The machine's peak is TensorFlow's product of two 2048 x 2048 matrices, measured in the same rounds.
"""

import argparse
import json
import statistics
import sys

from benchmarks.family_race import race_families
from benchmarks.harness.bert_shapes import SHAPES, Shape
from benchmarks.harness.contestants import Contestant, Times, answer, take_turns
from benchmarks.harness.masked_batches import Step, make_batch, serve_steps
from keras_bert.families.registry import FAMILIES

OURS, KERAS_HUB = "ours", "keras-hub"
MATRIX = 2048


MODES = {
    OURS: ("float32", "float32 XLA", "float32 XLA parts", "bfloat16", "bfloat16 XLA", "bfloat16 XLA parts"),
    KERAS_HUB: ("float32", "float32 XLA", "bfloat16", "bfloat16 XLA"),
}
PEAKS = ("peak float32", "peak bfloat16")


def main() -> None:
    """Prints a table for each encoder or family, or answers the process that does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-python", help="without it: this interpreter, or for families no keras-hub")
    parser.add_argument("--family", nargs="+", choices=FAMILIES, help="instead of encoders")
    parser.add_argument("--transformers-python", default=sys.executable)
    parser.add_argument("--compile", action="store_true", help="families: time torch.compile, which takes long, too")
    parser.add_argument("--encoders", nargs="+", choices=SHAPES, default=["L4 H256", "BERT-base"])
    parser.add_argument("--ours", nargs="+", choices=MODES[OURS], default=MODES[OURS])
    parser.add_argument("--keras-hub", nargs="+", choices=MODES[KERAS_HUB], default=MODES[KERAS_HUB])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a round of each is, at least")
    parser.add_argument("--serve", metavar="ENCODER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.seconds)
        return
    if options.family:
        race_families(options)
        return
    for encoder in options.encoders:
        contestants = {name: start(name, encoder, options) for name in (OURS, KERAS_HUB)}
        entries = [(OURS, mode) for mode in (*options.ours, *PEAKS)] + [(KERAS_HUB, mode) for mode in options.keras_hub]
        print_table(encoder, take_turns(contestants, entries, options.rounds))
        for name, contestant in contestants.items():
            print(f"{name}: {contestant.hello}")
            contestant.stop()


def start(name: str, encoder: str, options: argparse.Namespace) -> Contestant:
    """A process that holds one encoder and times steps of its training when asked."""
    seconds = ["--seconds", str(options.seconds)]
    if name == OURS:
        return Contestant(sys.executable, ["benchmarks.train", "--serve", encoder, *seconds])
    shape = SHAPES[encoder]
    batch = ["--rows", str(shape.rows), "--length", str(shape.length), *seconds]
    peer = ["benchmarks.peers.keras_hub_masked_tokens", "bert", json.dumps(shape.keras_hub()), *batch]
    return Contestant(options.peers_python or sys.executable, peer)


def print_table(encoder: str, times: Times) -> None:
    """A markdown table: one line for each contestant and mode, the ratio of the best modes below."""
    shape = SHAPES[encoder]
    medians = {entry: statistics.median(wall for wall, _ in values) for entry, values in times.items()}
    peaks = {mode.removeprefix("peak "): 2 * MATRIX**3 / medians.pop((OURS, mode)) for mode in PEAKS}
    best = min(seconds for (name, _), seconds in medians.items() if name == KERAS_HUB)
    print(f"\n{encoder}, {shape}, {shape.flops() / 1e9:.0f} GFLOP a step\n")
    print("| contestant | mode | ms, median (minimum) | ms of cores | tokens/s | x best of keras-hub | share of peak |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for (name, mode), seconds in medians.items():
        share = shape.flops() / seconds / peaks[mode.split()[0]]
        milliseconds = f"{1000 * seconds:.0f} ({1000 * min(times[name, mode])[0]:.0f})"
        speed = f"{shape.tokens / seconds:,.0f}"
        cores = 1000 * statistics.median(cores for _, cores in times[name, mode])
        print(f"| {name} | {mode} | {milliseconds} | {cores:.0f} | {speed} | {best / seconds:.2f} | {share:.0%} |")
    print("\npeak, GFLOP/s:", ", ".join(f"{dtype} {peak / 1e9:.0f}" for dtype, peak in peaks.items()), "\n")


def serve(encoder: str, least: float) -> None:
    """Answers each line of standard input, a mode, with the seconds of one step of it, or of one product."""
    import keras
    import tensorflow as tf

    answer({"keras": keras.__version__, "tensorflow": tf.__version__})
    serve_steps(lambda mode: product(mode) if mode in PEAKS else our_step(mode, SHAPES[encoder]), least)


def product(mode: str) -> Step:
    """The product of two square matrices: what the machine can do at most."""
    import tensorflow as tf

    matrix = tf.cast(tf.random.normal((MATRIX, MATRIX)), mode.removeprefix("peak "))
    multiply = tf.function(tf.matmul)
    return lambda: float(multiply(matrix, matrix)[0, 0])


def our_step(mode: str, shape: Shape) -> Step:
    """The step of our trainer on a new encoder."""
    from benchmarks.harness.our_steps import make_step
    from keras_bert.models.encoder import build_encoder
    from keras_bert.models.pretraining import build_pretraining

    model = build_pretraining(build_encoder(shape.config(), pooler=False), next_sentence=False)
    return make_step(model, mode, make_batch(shape.rows, shape.length))


if __name__ == "__main__":
    main()
