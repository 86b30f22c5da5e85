"""A step of pre-training with masked tokens against keras-hub's `BertMaskedLM`.

    python -m benchmarks.train --peers-python PATH

PATH is a Python interpreter with keras-hub and tensorflow. Both contestants live in processes of their own and are
timed one round at a time, in turn, so that a busy machine hits both alike; the time that all cores spend it hits least.
Tokens are random and rows are full: every token counted is a real one. Dropout 0.1 everywhere, AdamW with decay 0.01,
gradients clipped at a global norm of 1. Ours is the step of `Trainer`; keras-hub's the function that its `fit` calls,
with the loss and the metric it chooses. "XLA" compiles a whole step, "XLA parts" what stands between matrix products.

FLOPs are those of Chowdhery et al. 2022 (PaLM), appendix B, 6 N + 12 L H Q T for each token, where N counts the weights
of the blocks' matrix products; the masked-token head is counted for its predictions only. What is recomputed is not
counted. The machine's peak is TensorFlow's product of two 2048 x 2048 matrices, measured in the same rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.contestants import Contestant, answer, questions

VOCABULARY, POSITIONS, PREDICTIONS = 30522, 512, 20
OURS, KERAS_HUB = "ours", "keras-hub"
MATRIX = 2048

Batch = dict[str, np.ndarray[Any, Any]]
# (contestant, mode) -> seconds on the clock and seconds of all cores, of every round.
Times = dict[tuple[str, str], list[tuple[float, float]]]


class Shape(NamedTuple):
    """An encoder and its batches."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    rows: int
    length: int

    @property
    def tokens(self) -> int:
        """Tokens a step."""
        return self.rows * self.length

    @property
    def flops(self) -> float:
        """Floating-point operations of a step, forwards and backwards."""
        block = 4 * self.hidden**2 + 2 * self.hidden * self.intermediate
        encoder = (6 * self.layers * block + 12 * self.layers * self.hidden * self.length) * self.tokens
        head = 6 * (self.hidden * VOCABULARY + self.hidden**2) * self.rows * PREDICTIONS
        return encoder + head


SHAPES = {
    "L2 H128": Shape(2, 128, 2, 512, 32, 128),
    "L4 H256": Shape(4, 256, 4, 1024, 32, 128),
    "MiniLM": Shape(6, 384, 12, 1536, 32, 24),
    "BERT-base": Shape(12, 768, 12, 3072, 8, 128),
}
MODES = {
    OURS: ("float32", "float32 XLA", "float32 XLA parts", "bfloat16", "bfloat16 XLA", "bfloat16 XLA parts"),
    KERAS_HUB: ("float32", "float32 XLA", "bfloat16", "bfloat16 XLA"),
}
PEAKS = ("peak float32", "peak bfloat16")


def main() -> None:
    """Prints a table for each encoder, or answers the process that does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--encoders", nargs="+", choices=SHAPES, default=["L4 H256", "BERT-base"])
    parser.add_argument("--ours", nargs="+", choices=MODES[OURS], default=MODES[OURS])
    parser.add_argument("--keras-hub", nargs="+", choices=MODES[KERAS_HUB], default=MODES[KERAS_HUB])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a round of each is, at least")
    parser.add_argument("--serve", nargs=2, metavar=("CONTESTANT", "ENCODER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options.seconds)
        return
    for encoder in options.encoders:
        contestants = {name: start(name, encoder, options) for name in (OURS, KERAS_HUB)}
        times = race(contestants, options)
        print_table(encoder, times)
        for name, contestant in contestants.items():
            print(f"{name}: {contestant.hello}")
            contestant.stop()


def start(name: str, encoder: str, options: argparse.Namespace) -> Contestant:
    """A process that holds one encoder and times steps of its training when asked."""
    python = sys.executable if name == OURS else options.peers_python
    return Contestant(python, ["benchmarks.train", "--serve", name, encoder, "--seconds", str(options.seconds)])


def race(contestants: dict[str, Contestant], options: argparse.Namespace) -> Times:
    """Times everything in turn."""
    entries = [(OURS, mode) for mode in (*options.ours, *PEAKS)] + [(KERAS_HUB, mode) for mode in options.keras_hub]
    times: Times = {entry: [] for entry in entries}
    for number in range(options.rounds + 1):
        for name, mode in entries:
            wall, cores = contestants[name].ask(mode)
            if number:  # the first round warms up
                times[name, mode].append((wall, cores))
    return times


def print_table(encoder: str, times: Times) -> None:
    """A markdown table: one line for each contestant and mode, the ratio of the best modes below."""
    shape = SHAPES[encoder]
    medians = {entry: statistics.median(wall for wall, _ in values) for entry, values in times.items()}
    peaks = {mode.removeprefix("peak "): 2 * MATRIX**3 / medians.pop((OURS, mode)) for mode in PEAKS}
    best = min(seconds for (name, _), seconds in medians.items() if name == KERAS_HUB)
    print(f"\n{encoder}, {shape}, {shape.flops / 1e9:.0f} GFLOP a step\n")
    print("| contestant | mode | ms, median (minimum) | ms of cores | tokens/s | x best of keras-hub | share of peak |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for (name, mode), seconds in medians.items():
        share = shape.flops / seconds / peaks[mode.split()[0]]
        milliseconds = f"{1000 * seconds:.0f} ({1000 * min(times[name, mode])[0]:.0f})"
        speed = f"{shape.tokens / seconds:,.0f}"
        cores = 1000 * statistics.median(cores for _, cores in times[name, mode])
        print(f"| {name} | {mode} | {milliseconds} | {cores:.0f} | {speed} | {best / seconds:.2f} | {share:.0%} |")
    print("\npeak, GFLOP/s:", ", ".join(f"{dtype} {peak / 1e9:.0f}" for dtype, peak in peaks.items()), "\n")


def serve(contestant: str, encoder: str, least: float) -> None:
    """Answers each line of standard input, a mode, with the seconds of one step of it, or of one product."""
    import keras
    import tensorflow as tf

    answer({"keras": keras.__version__, "tensorflow": tf.__version__})
    ready: dict[str, Callable[[], Any]] = {}
    for mode in questions():
        if mode not in ready:
            prepare = product if mode in PEAKS else our_step if contestant == OURS else keras_hub_step
            ready[mode] = prepare(mode, SHAPES[encoder])
            ready[mode]()  # traces and compiles
        start, busy, calls, seconds = time.perf_counter(), time.process_time(), 0, 0.0
        while seconds < least or calls < 2:
            ready[mode]()
            calls, seconds = calls + 1, time.perf_counter() - start
        answer([seconds / calls, (time.process_time() - busy) / calls])


def make_batch(shape: Shape) -> Batch:
    """Random tokens without padding, and random places to predict."""
    random = np.random.default_rng(0)
    tokens = random.integers(5, VOCABULARY, (shape.rows, shape.length), dtype=np.int32)
    predictions = min(PREDICTIONS, shape.length)
    places = [random.choice(shape.length, predictions, replace=False) for _ in range(shape.rows)]
    return {
        "token_ids": tokens,
        "segment_ids": np.zeros_like(tokens),
        "padding_mask": np.ones_like(tokens),
        "mask_positions": np.sort(np.array(places), axis=1).astype(np.int32),
        "mask_ids": random.integers(5, VOCABULARY, (shape.rows, predictions), dtype=np.int32),
        "mask_weights": np.ones((shape.rows, predictions), np.float32),
    }


def product(mode: str, shape: Shape) -> Callable[[], Any]:
    """The product of two square matrices: what the machine can do at most."""
    import tensorflow as tf

    matrix = tf.cast(tf.random.normal((MATRIX, MATRIX)), mode.removeprefix("peak "))
    multiply = tf.function(tf.matmul)
    return lambda: multiply(matrix, matrix).numpy()


def our_step(mode: str, shape: Shape) -> Callable[[], Any]:
    """The step of our trainer."""
    import tensorflow as tf

    from keras_bert.config import EncoderConfig
    from keras_bert.fused.pretraining import FusedPretrainingObjective
    from keras_bert.models.encoder import build_encoder
    from keras_bert.models.pretraining import build_pretraining
    from keras_bert.objectives.pretraining import PretrainingObjective
    from keras_bert.options.training import Training
    from keras_bert.training.trainer import Trainer

    precision, *compiler = mode.split()
    xla = {"": "off", "XLA": "whole", "XLA parts": "parts"}[" ".join(compiler)]
    config = EncoderConfig(
        vocabulary_size=VOCABULARY,
        num_layers=shape.layers,
        hidden_size=shape.hidden,
        num_heads=shape.heads,
        intermediate_size=shape.intermediate,
        max_length=POSITIONS,
        activation="gelu_erf",
    )
    model = build_pretraining(build_encoder(config, pooler=False), next_sentence=False)
    training = Training(learning_rate=1e-4, clip_norm=1.0, precision=precision, xla=xla)
    batch = {name: tf.constant(array) for name, array in make_batch(shape).items()}
    plain = PretrainingObjective(next_sentence=False)
    objective = FusedPretrainingObjective(model, next_sentence=False) if xla == "parts" else plain
    trainer = Trainer(model, objective, training, steps=100_000)

    def step() -> float:
        (sums,), _ = trainer.step([batch], 1)
        return float(sums["masked_loss"][0])

    return step


def keras_hub_step(mode: str, shape: Shape) -> Callable[[], Any]:
    """What `fit` of keras-hub's model calls for each batch."""
    import keras
    import keras_hub
    import tensorflow as tf

    dtype, *compiler = mode.split()
    keras.config.set_dtype_policy("mixed_bfloat16" if dtype == "bfloat16" else "float32")
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=VOCABULARY,
        num_layers=shape.layers,
        num_heads=shape.heads,
        hidden_dim=shape.hidden,
        intermediate_dim=shape.intermediate,
        dropout=0.1,
        max_sequence_length=POSITIONS,
    )
    model = keras_hub.models.BertMaskedLM(backbone, preprocessor=None)
    optimizer = keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, jit_compile=bool(compiler))
    batch = make_batch(shape)
    labels, weights = batch.pop("mask_ids"), batch.pop("mask_weights")
    batches = iter(tf.data.Dataset.from_tensors((batch, labels, weights)).cache().repeat())
    step = model.make_train_function() or model.train_function
    # Its metrics are a tensor until somebody reads them: the step is over then.
    return lambda: float(step(batches)["loss"])


if __name__ == "__main__":
    main()
