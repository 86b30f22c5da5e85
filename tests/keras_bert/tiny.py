"""The encoder of most tests: as small as one can be that has several layers, heads and tokens."""

from typing import Any

from keras_bert.core.config import EncoderConfig


def tiny_config(**changes: Any) -> EncoderConfig:
    """A configuration in which a test names what it is about."""
    sizes = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16}
    return EncoderConfig(**{**sizes, "vocabulary_size": 20, "max_length": 9, **changes})
