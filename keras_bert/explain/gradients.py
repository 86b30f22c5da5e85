"""Gradients by the Keras backend: Keras itself has no function for them."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.explain.tokens import Array


def scores_and_gradients(function: Callable[[Any], Any], inputs: Array) -> tuple[Array, Array]:
    """The scores (rows,) of rows (rows, ...), and the gradient of each score with respect to its row, float32.

    Each score of the function depends on its own row alone.

    Raises:
        NotImplementedError: Keras runs on a backend other than TensorFlow and JAX.
    """
    name = keras.backend.backend()
    if name not in _BACKENDS:
        raise NotImplementedError(f"gradients need Keras on one of {sorted(_BACKENDS)}, got {name!r}; use occlusion")
    scores, gradients = _BACKENDS[name](lambda x: ops.cast(function(x), "float32"), ops.convert_to_tensor(inputs))
    return np.asarray(scores), np.asarray(gradients, "float32")


def _by_tensorflow(function: Callable[[Any], Any], inputs: Any) -> tuple[Any, Any]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(inputs)
        scores = function(inputs)
    return scores, tape.gradient(scores, inputs)


def _by_jax(function: Callable[[Any], Any], inputs: Any) -> tuple[Any, Any]:
    import jax

    scores, pull_back = jax.vjp(function, inputs)
    return scores, pull_back(ops.ones_like(scores))[0]


_BACKENDS: dict[str, Callable[[Callable[[Any], Any], Any], tuple[Any, Any]]] = {
    "tensorflow": _by_tensorflow,
    "jax": _by_jax,
}
