"""Temporarily changes the compute precision of a model; its weights stay float32."""

import contextlib
from collections.abc import Iterator

import keras

from keras_bert.options.training import Precision

# All policies keep float32 weights (Micikevicius et al. 2018, section 3.1).
POLICIES: dict[str, str] = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


@contextlib.contextmanager
def computing_in(model: keras.Model, precision: Precision) -> Iterator[None]:
    """Inside of the block, all layers of a float32 model compute in a precision; on exit their policies are restored.

    A function that was traced inside keeps the precision. A model that is saved inside stores it, so save it outside.

    Raises:
        ValueError: the precision is unknown.
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
