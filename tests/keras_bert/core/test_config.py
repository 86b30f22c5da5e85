import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape

SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16}


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (EncoderShape, {**SHAPE, "num_layers": 0}, "EncoderShape.num_layers must be positive, got 0"),
        (EncoderShape, {**SHAPE, "dropout": 1.0}, r"EncoderShape.dropout must be below 1, got 1.0"),
        (EncoderShape, {**SHAPE, "num_heads": 3}, "hidden_size must be a multiple of num_heads=3, got 8"),
        (
            EncoderShape,
            {**SHAPE, "activation": "gelu"},
            "EncoderShape.activation must be 'gelu_tanh', 'gelu_erf' or 'relu', got 'gelu'",
        ),
        (EncoderConfig, {**SHAPE, "vocabulary_size": 0}, "EncoderConfig.vocabulary_size must be positive, got 0"),
        (
            EncoderConfig,
            {**SHAPE, "vocabulary_size": 9, "hidden_size": 9},
            "EncoderConfig.hidden_size must be a multiple",
        ),
        (EncoderConfig, {**SHAPE, "vocabulary_size": 9, "layer_norm_epsilon": 0}, "epsilon must be positive, got 0"),
        (EncoderShape, {**SHAPE, "embedding_size": 0}, "EncoderShape.embedding_size must be positive, got 0"),
        (EncoderShape, {**SHAPE, "num_segments": -1}, "EncoderShape.num_segments must be at least 0, got -1"),
        (EncoderShape, {**SHAPE, "position_offset": -2}, "EncoderShape.position_offset must be at least 0, got -2"),
        (
            EncoderConfig,
            {**SHAPE, "vocabulary_size": 9, "pooler_activation": "gelu"},
            "EncoderConfig.pooler_activation must be 'tanh', 'gelu_tanh', 'gelu_erf', 'relu' or 'none', got 'gelu'",
        ),
        (EncoderConfig, {**SHAPE, "vocabulary_size": 9, "pooler_dropout": 1.0}, "pooler_dropout must be below 1"),
    ],
)
def test_out_of_range(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


def test_a_shape_becomes_a_configuration():
    shape = EncoderShape(**SHAPE, activation="relu", dropout=0.3)
    config = shape.encoder_config(vocabulary_size=30, max_length=12)
    assert config == EncoderConfig(**SHAPE, activation="relu", dropout=0.3, vocabulary_size=30, max_length=12)
    assert config.head_size == 4
