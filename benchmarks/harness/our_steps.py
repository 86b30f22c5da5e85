"""Steps of our trainer."""

from typing import TYPE_CHECKING, get_args

from benchmarks.harness.masked_batches import Batch, Step
from keras_bert.options.training import Precision, Training, Xla

if TYPE_CHECKING:
    import keras

_XLA: dict[str, Xla] = {"": "off", "XLA": "whole", "XLA parts": "parts"}


def make_step(model: "keras.Model", mode: str, batch: Batch) -> Step:
    """A step with masked tokens, of a mode: `float32` or `bfloat16`, and `XLA`, `XLA parts` behind it or nothing."""
    import tensorflow as tf

    from keras_bert.fused.pretraining import FusedPretrainingObjective
    from keras_bert.objectives.pretraining import PretrainingObjective
    from keras_bert.training.step import TrainingStep

    precision, *compiler = mode.split()
    chosen, xla = next(choice for choice in get_args(Precision) if choice == precision), _XLA[" ".join(compiler)]
    training = Training(learning_rate=1e-4, clip_norm=1.0, precision=chosen, xla=xla)
    tensors = {name: tf.constant(array) for name, array in batch.items()}
    plain = PretrainingObjective(next_sentence=False)
    objective = FusedPretrainingObjective(model, next_sentence=False) if xla == "parts" else plain
    trained = TrainingStep(model, objective, training, steps=100_000)

    def step() -> float:
        (sums,), _ = trained.step([tensors], 1)
        return float(sums["masked_loss"][0])

    return step


def first_loss(model: "keras.Model", batch: Batch) -> float:
    """The mean loss of a batch in nats, without dropout."""
    import tensorflow as tf

    from keras_bert.objectives.pretraining import PretrainingObjective

    tensors = {name: tf.constant(array) for name, array in batch.items()}
    total, weight = PretrainingObjective(next_sentence=False)(model, tensors, False)["masked_loss"]
    return float(total / weight)
