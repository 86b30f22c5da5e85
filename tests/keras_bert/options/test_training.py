import dataclasses
import math

import pytest

from keras_bert.options import training
from keras_bert.options.training import Training
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be positive, got 0"),
        ({"batch_size": 0}, "batch_size must be positive, got 0"),
        ({"accumulation": 0}, "accumulation must be positive, got 0"),
        ({"batch_size": 8, "accumulation": 3}, "accumulation must divide batch_size=8, got 3"),
        ({"learning_rate": math.nan}, "learning_rate must be a finite number, got nan"),
        ({"epochs": 0.0}, "epochs must be positive, got 0.0"),
        ({"clip_norm": -1.0}, "clip_norm must be positive, got -1.0"),
        ({"power": 0}, "power must be positive, got 0"),
        ({"warmup": 1.1}, "warmup must be at most 1, got 1.1"),
        ({"weight_decay": -1}, "weight_decay must be at least 0, got -1"),
        ({"layer_decay": 0.0}, "layer_decay must be positive, got 0.0"),
        ({"ema": 1.0}, "ema must be below 1, got 1.0"),
        ({"decay": "step"}, "decay must be 'linear', 'cosine' or 'polynomial', got 'step'"),
        (
            {"precision": "float64"},
            "precision must be 'auto', 'float32', 'bfloat16' or 'float16', got 'float64'",
        ),
        ({"xla": "on"}, "xla must be 'off', 'parts' or 'whole', got 'on'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 2**32}, "seed must be below 4294967296, got 4294967296"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Training, settings, message)


@pytest.mark.parametrize("field", ["epochs", "learning_rate", "power", "weight_decay", "clip_norm"])
def test_infinity_is_told_as_such(field):
    check_refusal(Training, {field: math.inf}, f"{field} must be a finite number, got inf")


@pytest.mark.parametrize("native", ["bfloat16", "float32"])
def test_auto_becomes_what_the_processor_computes_natively_at_once(monkeypatch, native):
    monkeypatch.setattr(training, "native_precision", lambda: native)
    chosen = Training(precision="auto")
    assert dataclasses.asdict(chosen)["precision"] == native
    assert chosen == Training(precision=native)
    assert dataclasses.replace(chosen, seed=1).precision == native


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_precision_that_was_chosen_stays(monkeypatch, precision):
    monkeypatch.setattr(training, "native_precision", lambda: pytest.fail("nobody asked for it"))
    assert Training(precision=precision).precision == precision


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().steps = 3


def test_steps():
    assert Training(steps=7).count_steps(1000) == 7
    assert Training(epochs=1.5, batch_size=8).count_steps(100) == 19
    assert Training(epochs=1, batch_size=512).count_steps(3) == 1


def test_the_parts_of_a_batch():
    assert Training(batch_size=24, accumulation=3).part_size == 8
