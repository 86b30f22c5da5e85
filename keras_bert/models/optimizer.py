"""AdamW with warm-up as in BERT's training (Devlin et al. 2019, A.2), and with layer-wise learning rates."""

import math
from collections.abc import Sequence
from typing import Any, get_args

import keras
from keras import ops

from keras_bert.core.checks import check
from keras_bert.options.training import Decay

# Biases and LayerNorm's gamma and beta are not decayed (released code, `optimization.py`).
NOT_DECAYED = ("bias", "gamma", "beta")
_EMBEDDINGS = ("token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "embedding_projection")


@keras.saving.register_keras_serializable("keras_bert")
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate schedule: linear warm-up to a peak, then decay, which would reach 0 one step after the last.

    Args:
        peak: the largest learning rate.
        steps: the number of optimizer steps.
        warmup: the fraction of the steps that are warm-up, 0 to 1.
        decay: the shape of the decay. With r, the fraction of the decay's steps that are left, the rate is the peak
            times r (`linear`), (1 - cos(pi r)) / 2 (`cosine`; Loshchilov and Hutter 2017, equation 5, without restarts)
            or r to the power of `power` (`polynomial`).
        power: the exponent of `polynomial`.
    """

    def __init__(self, peak: float, steps: int, warmup: float, decay: Decay = "linear", power: float = 2.0) -> None:
        super().__init__()
        check("WarmupDecay", "decay", decay in get_args(Decay), f"be one of {get_args(Decay)}", decay)
        self.peak, self.steps, self.warmup, self.decay, self.power = peak, steps, warmup, decay, power

    def __call__(self, step: Any) -> Any:
        """The learning rate of a step, counted from 0; it is above 0 for the first step."""
        done = ops.cast(step, "float32") + 1.0
        rising = max(1.0, self.steps * self.warmup)
        left = ops.clip((self.steps + 1 - done) / max(1.0, self.steps - rising), 0.0, 1.0)
        if self.decay == "cosine":
            left = (1.0 - ops.cos(math.pi * left)) / 2.0
        elif self.decay == "polynomial":
            left = left**self.power
        return self.peak * ops.minimum(ops.clip(done / rising, 0.0, 1.0), left)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in ("peak", "steps", "warmup", "decay", "power")}


@keras.saving.register_keras_serializable("keras_bert")
class LayerwiseAdamW(keras.optimizers.Adam):
    """AdamW (Loshchilov and Hutter 2019, algorithm 2) with layer-wise learning rates.

    `keras.optimizers.AdamW` has one rate for all weights. Here each layer has a rate, and the weight decay is
    proportional to it.

    Args:
        learning_rate: the rate of the topmost block and of the heads, a number or a schedule.
        decoupled_decay: the weight decay as a factor of the rate; biases and LayerNorm are not decayed.
        layer_decay: lambda of the rate eta_l = eta lambda^(L - l) of layer l, which is 0 for the embeddings and 1 to L
            for the blocks (Howard and Ruder 2018, section 3.2; Clark et al. 2020, appendix B).
        kwargs: arguments of `keras.optimizers.Adam`, except `amsgrad`.
    """

    def __init__(
        self, learning_rate: Any, *, decoupled_decay: float = 0.01, layer_decay: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        check("LayerwiseAdamW", "amsgrad", not self.amsgrad, "be False", self.amsgrad)
        self.decoupled_decay, self.layer_decay = decoupled_decay, layer_decay

    def build(self, variables: Sequence[Any]) -> None:
        """Creates the moments, and finds the layer of each variable by its path."""
        super().build(variables)
        depths = [_depth(variable.path) for variable in variables]
        top = max((depth for depth in depths if depth is not None), default=0)
        self._rates = [1.0 if depth is None else self.layer_decay ** (top - depth) for depth in depths]
        self._decays = [0.0 if variable.name in NOT_DECAYED else self.decoupled_decay for variable in variables]

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Updates all variables by one step."""
        step = ops.cast(self.iterations + 1, "float32")
        # Shared by all variables: Keras' Adam computes it for each of them, which is half of its graph.
        self._correction = ops.sqrt(1.0 - self.beta_2**step) / (1.0 - self.beta_1**step)
        self._scales: dict[tuple[float, float], tuple[Any, Any]] = {}
        super().apply(grads, trainable_variables)
        self._correction, self._scales = None, {}

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates one variable by one step; Keras calls it."""
        index = self._get_variable_index(variable)
        first, second = self._momentums[index], self._velocities[index]
        rate, decay = self._scale(learning_rate, self._rates[index], self._decays[index])
        self.assign_add(first, ops.multiply(ops.subtract(gradient, first), 1 - self.beta_1))
        self.assign_add(second, ops.multiply(ops.subtract(ops.square(gradient), second), 1 - self.beta_2))
        change = ops.divide(ops.multiply(first, rate), ops.add(ops.sqrt(second), self.epsilon))
        if decay is not None:
            change = ops.add(change, ops.multiply(variable, decay))
        self.assign_sub(variable, change)

    def _scale(self, learning_rate: Any, layer: float, decay: float) -> tuple[Any, Any]:
        """The factors of a variable's moment and, for weight decay, of the variable; None without weight decay."""
        if (layer, decay) not in self._scales:
            rate = learning_rate if layer == 1.0 else learning_rate * layer
            self._scales[layer, decay] = rate * self._correction, rate * decay if decay else None
        return self._scales[layer, decay]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "decoupled_decay": self.decoupled_decay, "layer_decay": self.layer_decay}


def _depth(path: str) -> int | None:
    """The depth of a variable's layer: 0 for embeddings, 1 for the lowest block; None for heads."""
    parts = path.split("/")
    if any(part in _EMBEDDINGS for part in parts):
        return 0
    blocks = [part.removeprefix("block_") for part in parts if part.startswith("block_")]
    return int(blocks[0]) + 1 if blocks else None


def adamw(
    learning_rate: float,
    steps: int,
    *,
    warmup: float = 0.1,
    decay: Decay = "linear",
    power: float = 2.0,
    weight_decay: float = 0.01,
    layer_decay: float = 1.0,
    clip_norm: float | None = 1.0,
) -> LayerwiseAdamW:
    """Builds AdamW with warm-up and BERT's constants (released code, `optimization.py`).

    Args:
        learning_rate: the peak of the schedule, above 0.
        steps: the number of optimizer steps, at least 1.
        warmup: the fraction of the steps that are warm-up, 0 to 1.
        decay: the shape of the decay after warm-up, see `WarmupDecay`.
        power: the exponent of a polynomial decay, above 0.
        weight_decay: the decoupled weight decay as a factor of the learning rate; biases and LayerNorm are not decayed.
        layer_decay: the learning rate of a block, divided by the rate of the block above, above 0 and at most 1; see
            `LayerwiseAdamW`.
        clip_norm: the largest global norm of the gradients, above 0; None for no clipping.

    Raises:
        ValueError: an argument is out of range.

    Examples:
        >>> optimizer = adamw(1e-3, steps=100)
        >>> round(float(optimizer.learning_rate), 6)  # the first of ten steps of warm-up
        0.0001
    """
    for name, value in (("learning_rate", learning_rate), ("clip_norm", clip_norm), ("power", power)):
        check("adamw", name, value is None or value > 0, "be positive", value)
    check("adamw", "steps", steps >= 1, "be at least 1", steps)
    check("adamw", "warmup", 0 <= warmup <= 1, "be between 0 and 1", warmup)
    check("adamw", "weight_decay", weight_decay >= 0, "not be negative", weight_decay)
    check("adamw", "layer_decay", 0 < layer_decay <= 1, "be in (0, 1]", layer_decay)
    return LayerwiseAdamW(
        WarmupDecay(learning_rate, steps, warmup, decay, power),
        decoupled_decay=weight_decay,
        layer_decay=layer_decay,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        global_clipnorm=clip_norm,
        name="adamw",
    )
