"""AdamW with warm-up and linear decay, as BERT was trained (Devlin et al. 2019, A.2)."""

from typing import Any

import keras
from keras import ops

from keras_bert.config import check

# Biases and LayerNorm's gamma and beta are not decayed (released code, `optimization.py`).
NOT_DECAYED = ["bias", "gamma", "beta"]


class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly to the peak over the warm-up, then falls linearly and would be 0 one step after the last.

    Args:
        peak: the largest learning rate.
        steps: optimizer steps in all.
        warmup: share of the steps that rise.
    """

    def __init__(self, peak: float, steps: int, warmup: float) -> None:
        super().__init__()
        self.peak, self.steps, self.warmup = peak, steps, warmup

    def __call__(self, step: Any) -> Any:
        """The learning rate of the step with this number, counted from 0; the first step already moves."""
        done = ops.cast(step, "float32") + 1.0
        rising = max(1.0, self.steps * self.warmup)
        falling = max(1.0, self.steps - rising)
        return self.peak * ops.clip(ops.minimum(done / rising, (self.steps + 1 - done) / falling), 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"peak": self.peak, "steps": self.steps, "warmup": self.warmup}


def adamw(
    learning_rate: float, steps: int, *, warmup: float = 0.1, weight_decay: float = 0.01, clip_norm: float = 1.0
) -> keras.optimizers.Optimizer:
    """AdamW (Loshchilov and Hutter 2019) with BERT's constants.

    Args:
        learning_rate: the peak of the schedule.
        steps: optimizer steps in all.
        warmup: share of the steps in which the learning rate rises.
        weight_decay: decoupled decay, times the learning rate; not for biases and LayerNorm.
        clip_norm: the largest norm of all gradients together.

    Raises:
        ValueError: an argument is out of range.
    """
    for name, value in (("learning_rate", learning_rate), ("clip_norm", clip_norm)):
        check("adamw", name, value > 0, "be positive", value)
    check("adamw", "steps", steps >= 1, "be at least 1", steps)
    check("adamw", "warmup", 0 <= warmup <= 1, "be between 0 and 1", warmup)
    check("adamw", "weight_decay", weight_decay >= 0, "not be negative", weight_decay)
    optimizer = keras.optimizers.AdamW(
        learning_rate=WarmupLinearDecay(learning_rate, steps, warmup),
        weight_decay=weight_decay,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        global_clipnorm=clip_norm,
    )
    optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    return optimizer
