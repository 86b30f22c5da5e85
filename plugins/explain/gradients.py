"""Gradients by the Keras backend: Keras itself has no function for them."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from plugins.explain.tokens import Array


def scores_and_gradients(function: Callable[[Any], Any], inputs: Array) -> tuple[Array, Array]:
    """The scores (rows,) of rows (rows, ...), and the gradient of each score with respect to its row, float32.

    Each score of the function only depends on its own row.
    """
    name, tensors = keras.backend.backend(), ops.convert_to_tensor(inputs)
    if name == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            scores = ops.cast(function(tensors), "float32")
        gradients = tape.gradient(scores, tensors)
    elif name == "jax":
        import jax

        scores, pull_back = jax.vjp(lambda rows: ops.cast(function(rows), "float32"), tensors)
        (gradients,) = pull_back(ops.ones_like(scores))
    else:
        raise NotImplementedError(f"gradients need Keras on TensorFlow or JAX, got {name!r}; use occlusion")
    return np.asarray(scores), np.asarray(gradients, "float32")
