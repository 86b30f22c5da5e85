import pytest

from keras_bert.config import PRESETS, VOCABULARY_SIZES, EncoderConfig, EncoderShape, preset

SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16}


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (EncoderShape, {**SHAPE, "num_layers": 0}, "EncoderShape.num_layers must be at least 1, got 0"),
        (EncoderShape, {**SHAPE, "dropout": 1.0}, r"EncoderShape.dropout must be in \[0, 1\), got 1.0"),
        (EncoderShape, {**SHAPE, "num_heads": 3}, "hidden_size must be a multiple of num_heads=3, got 8"),
        (
            EncoderShape,
            {**SHAPE, "activation": "gelu"},
            "EncoderShape.activation must be one of .*gelu_erf.*, got 'gelu'",
        ),
        (EncoderConfig, {**SHAPE, "vocabulary_size": 0}, "EncoderConfig.vocabulary_size must be at least 1, got 0"),
        (
            EncoderConfig,
            {**SHAPE, "vocabulary_size": 9, "hidden_size": 9},
            "EncoderConfig.hidden_size must be a multiple",
        ),
        (EncoderConfig, {**SHAPE, "vocabulary_size": 9, "layer_norm_epsilon": 0}, "epsilon must be positive, got 0"),
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


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("vocabulary", VOCABULARY_SIZES)
def test_presets(name, vocabulary):
    config = preset(name, vocabulary)
    assert config.head_size == 64
    assert config.intermediate_size == 4 * config.hidden_size
    assert config.vocabulary_size == VOCABULARY_SIZES[vocabulary]


def test_unknown_presets():
    with pytest.raises(ValueError, match=r"preset.name must be one of \('tiny', .*\), got 'huge'"):
        preset("huge")
    with pytest.raises(ValueError, match=r"preset.vocabulary must be one of .*'chinese'.*, got 'klingon'"):
        preset("base", "klingon")
