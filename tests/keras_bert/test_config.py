import dataclasses
import math

import pytest

from keras_bert import config
from keras_bert.checks import check
from keras_bert.config import PRESETS, VOCABULARY_SIZES, EncoderConfig, EncoderShape, preset
from keras_bert.options.distillation import Distillation
from keras_bert.options.masking import Masking
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.options.training import Training

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
        (Masking, {"rate": 1.5}, "Masking.rate must be between 0 and 1, got 1.5"),
        (Masking, {"random_share": 0.3}, "Masking.mask_share must leave room for random_share=0.3, got 0.8"),
        (Masking, {"strategy": "words"}, r"Masking.strategy must be one of \('tokens', .*\), got 'words'"),
        (PretrainingRows, {"objective": "order"}, r"PretrainingRows.objective must be one of .*, got 'order'"),
        (PretrainingRows, {"compression": "zip"}, r"PretrainingRows.compression must be one of .*, got 'zip'"),
        (PretrainingRows, {"short_share": -0.1}, "PretrainingRows.short_share must be between 0 and 1, got -0.1"),
        (PretrainingRows, {"short_length": 7}, "PretrainingRows.short_length must be at least 8, got 7"),
        (PretrainingRows, {"duplication": 0}, "PretrainingRows.duplication must be at least 1, got 0"),
        (PretrainingRows, {"held_out": 1.0}, r"PretrainingRows.held_out must be in \(0, 1\), got 1.0"),
        (Training, {"steps": 0}, "Training.steps must be at least 1, got 0"),
        (Training, {"learning_rate": math.nan}, "Training.learning_rate must be positive, got nan"),
        (Training, {"warmup": 1.1}, "Training.warmup must be between 0 and 1, got 1.1"),
        (Training, {"weight_decay": -1}, "Training.weight_decay must not be negative, got -1"),
        (Distillation, {"temperature": 0}, "Distillation.temperature must be positive, got 0"),
        (Distillation, {"hard_weight": 2}, "Distillation.hard_weight must be between 0 and 1, got 2"),
    ],
)
def test_out_of_range(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


KINDS = [kind for kind in vars(config).values() if dataclasses.is_dataclass(kind)]
FLOATS = [(kind, field.name) for kind in KINDS for field in dataclasses.fields(kind) if field.type is float]


@pytest.mark.parametrize(("kind", "field"), FLOATS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_every_number_is_finite(kind, field, value):
    least = {**SHAPE, "vocabulary_size": 9} if issubclass(kind, EncoderShape) else {}
    known = {name: setting for name, setting in least.items() if name in kind.__dataclass_fields__}
    with pytest.raises(ValueError, match=rf"^[A-Za-z]+\.{field} must .*, got {value}$"):
        kind(**known, **{field: value})


@pytest.mark.parametrize("field", ["epochs", "learning_rate", "power", "weight_decay", "clip_norm"])
def test_infinity_is_told_as_such(field):
    with pytest.raises(ValueError, match=rf"Training\.{field} must be a finite number, got inf"):
        Training(**{field: math.inf})


def test_whole_numbers_may_be_larger_than_floats():
    check("owner", "field", True, "be at least 1", 10**400)


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().steps = 3


def test_a_shape_becomes_a_configuration():
    shape = EncoderShape(**SHAPE, activation="relu", dropout=0.3)
    config = shape.encoder_config(vocabulary_size=30, max_length=12)
    assert config == EncoderConfig(**SHAPE, activation="relu", dropout=0.3, vocabulary_size=30, max_length=12)
    assert config.head_size == 4


def test_predictions_shrink_with_the_rows():
    assert Masking(max_predictions=80).scaled(128, 512) == Masking(max_predictions=20)
    assert Masking(strategy="spans").scaled(128, 128) == Masking(strategy="spans")
    assert Masking(max_predictions=1).scaled(8, 512).max_predictions == 1


def test_steps():
    assert Training(steps=7).count_steps(1000) == 7
    assert Training(epochs=1.5, batch_size=8).count_steps(100) == 19
    assert Training(epochs=1, batch_size=512).count_steps(3) == 1


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
