import dataclasses
import math
from typing import get_args

import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape

SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16}
FLOATS = [field.name for field in dataclasses.fields(EncoderConfig) if float in get_args(field.type)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocabulary_size": 0}, "vocabulary_size must be positive, got 0"),
        ({"hidden_size": 9}, "hidden_size must be a multiple of num_heads=2, got 9"),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon must be positive, got 0"),
        (
            {"pooler_activation": "gelu"},
            "pooler_activation must be 'tanh', 'gelu_tanh', 'gelu_erf', 'relu', 'silu' or 'none', got 'gelu'",
        ),
        ({"pooler_dropout": 1.0}, r"pooler_dropout must be below 1, got 1\.0"),
        *(({field: value}, f"{field} must .*, got {value}") for field in FLOATS for value in (math.inf, math.nan)),
    ],
)
def test_refuses_configuration(settings, message):
    with pytest.raises(ValueError, match=rf"^EncoderConfig\.{message}$"):
        EncoderConfig(**{**SHAPE, "vocabulary_size": 9, **settings})


def test_a_shape_becomes_a_configuration():
    shape = EncoderShape(**SHAPE, activation="relu", dropout=0.3)
    config = shape.encoder_config(vocabulary_size=30, max_length=12)
    assert config == EncoderConfig(**SHAPE, activation="relu", dropout=0.3, vocabulary_size=30, max_length=12)
    assert config.head_size == 4
