"""The number formats of a training: policies that leave weights float32, and the scale of a float16 loss."""

import contextlib
import dataclasses
from collections.abc import Iterator

import keras

from keras_bert.options.training import Precision

# All policies keep float32 weights (Micikevicius et al. 2018, section 3.1).
POLICIES: dict[str, str] = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


@contextlib.contextmanager
def computing_in(model: keras.Model, precision: Precision) -> Iterator[None]:
    """Inside of the block, all layers of a float32 model compute in a precision; on exit their policies are restored.

    A function that was traced inside keeps the precision. A model that is saved inside stores it, so save it outside.
    """
    if precision not in POLICIES:
        raise ValueError(f"precision must be one of {sorted(POLICIES)}, got {precision!r}")
    layers = list(model._flatten_layers())
    previous_policies = [layer.dtype_policy for layer in layers]
    policy = keras.DTypePolicy(POLICIES[precision])
    try:
        for layer in layers:
            layer.dtype_policy = policy
        yield
    finally:
        for layer, previous in zip(layers, previous_policies, strict=True):
            layer.dtype_policy = previous


@dataclasses.dataclass
class LossScale:
    """The factor that the loss is multiplied with and the gradients are divided by.

    A step whose gradients overflow is skipped and halves the scale. It doubles after `patience` steps without overflow.
    `steady` is the number of steps since the last change.
    """

    scale: float = 2.0**15
    steady: int = 0
    skipped: int = 0
    patience: int = 2000

    def update(self, *, overflow: bool) -> None:
        """Updates the scale after a step."""
        if overflow:
            if self.scale <= 2.0**-10:
                raise ArithmeticError(f"gradients overflow float16 even with a loss scale of {self.scale}")
            self.scale, self.steady, self.skipped = self.scale / 2, 0, self.skipped + 1
        elif self.steady + 1 >= self.patience:
            self.scale, self.steady = self.scale * 2, 0
        else:
            self.steady += 1
