"""The encoder of most tests: as small as one can be that has several layers, heads and tokens."""

from typing import Any

import keras

from keras_bert.core.config import EncoderConfig

SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16}
# What Keras is told where a training is short: to trace its step takes longer than a few of them.
EAGER = {"run_eagerly": keras.backend.backend() != "jax"}
SIZES: dict[str, Any] = {**SHAPE, "vocabulary_size": 20, "max_length": 9}


def tiny_config(**changes: Any) -> EncoderConfig:
    """A configuration in which a test names what it is about."""
    return EncoderConfig(**SIZES | changes)
