"""What the tests of attention to long texts share: the same with all pairs of tokens in one matrix, and its inputs."""

import keras
import numpy as np
from keras import ops

from tests.keras_bert.tiny import tiny_config

HEADS, HIDDEN = 2, 8


def config(variant, **changes):
    settings = {
        "max_length": 64,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "initializer_range": 0.5,
        "variant": variant,
    }
    return tiny_config(**settings | changes)


def states(length, rows=2):
    return np.random.default_rng(length).normal(size=(rows, length, HIDDEN)).astype("float32")


def bias_of(mask):
    """What `AttentionBias` makes of a padding mask."""
    return (np.asarray(mask, "float32") - 1)[:, None, None, :] * 120


def heads_of(layer, x):
    rows = ops.convert_to_numpy(layer(x))
    return rows.reshape(*rows.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def scores_of(layer, x, mark=""):
    """All pairs: (batch, heads, length, length)."""
    query, key = (heads_of(getattr(layer, f"{mark}{part}"), x) for part in ("query", "key"))
    return query @ key.transpose(0, 1, 3, 2) / np.sqrt(HIDDEN // HEADS)


def attend(layer, scores, x, mark=""):
    """(batch, heads, length, keys) and states -> what each query sees (batch, length, hidden)."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    context = weights / weights.sum(axis=-1, keepdims=True) @ heads_of(getattr(layer, f"{mark}value"), x)
    return context.transpose(0, 2, 1, 3).reshape(x.shape)


def largest(layer, *shapes, training=False):
    """The most numbers of any tensor that a layer makes for inputs of these shapes, and the shapes of all tensors."""
    import tensorflow as tf

    call = tf.function(lambda *inputs: layer(*inputs, training=training))
    graph = call.get_concrete_function(*(tf.TensorSpec(shape, tf.float32) for shape in shapes)).graph
    made = [
        tuple(out.shape)
        for operation in graph.get_operations()
        for out in operation.outputs
        if out.shape.is_fully_defined()
    ]
    return max(int(np.prod(shape)) for shape in made), made


ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
