"""The arithmetic of a model in another precision for a while; its weights stay as they are."""

import contextlib
from collections.abc import Iterator

import keras

from keras_bert.options.training import Precision

# Weights are float32 in all of them (Micikevicius et al. 2018, section 3.1).
POLICIES: dict[str, str] = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


@contextlib.contextmanager
def computing_in(model: keras.Model, precision: Precision) -> Iterator[None]:
    """Within it, all layers of a model compute in a precision; afterwards, as they did before.

    A function that was traced within keeps the precision. What is saved within remembers it: save afterwards.

    Args:
        model: its weights are float32.
        precision: of the arithmetic.

    Raises:
        ValueError: the precision is none of the known.
    """
    if precision not in POLICIES:
        raise ValueError(f"precision must be one of {sorted(POLICIES)}, got {precision!r}")
    layers = list(model._flatten_layers())
    before = [layer.dtype_policy for layer in layers]
    policy = keras.DTypePolicy(POLICIES[precision])
    try:
        for layer in layers:
            layer.dtype_policy = policy
        yield
    finally:
        for layer, old in zip(layers, before, strict=True):
            layer.dtype_policy = old
