import dataclasses
import importlib
import math
import pkgutil
from typing import get_args

import pytest

from keras_bert import options
from keras_bert.core import config
from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig, EncoderShape
from keras_bert.options.adaptation import Lora
from keras_bert.options.compression import Distillation, Imitation, Pruning, StateImitation, TeacherLabels
from keras_bert.options.fine_tuning import FewShot, HardNegatives
from keras_bert.options.pretraining import Generator, Masking, PretrainingRows
from keras_bert.options.training import Contrast, Training

# What cannot be left out of a record of settings.
NEEDED = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 16, "vocabulary_size": 9}

OPTIONS = [
    importlib.import_module(f"{options.__name__}.{file.name}") for file in pkgutil.iter_modules(options.__path__)
]
THINGS = [thing for file in (config, *OPTIONS) for thing in vars(file).values() if isinstance(thing, type)]
KINDS = sorted({thing for thing in THINGS if dataclasses.is_dataclass(thing)}, key=lambda kind: kind.__name__)
FLOATS = [(kind, field.name) for kind in KINDS for field in dataclasses.fields(kind) if float in get_args(field.type)]


def test_the_kinds_are_found_that_have_floats():
    assert {kind for kind, _ in FLOATS} == {
        Contrast, Distillation, EncoderConfig, EncoderShape, FewShot, Generator, HardNegatives, Imitation, Lora,
        Masking, PretrainingRows, Pruning, StateImitation, Training, TeacherLabels,
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "field"), FLOATS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_every_number_is_finite(kind, field, value):
    settings = {name: setting for name, setting in NEEDED.items() if name in kind.__dataclass_fields__}
    with pytest.raises(ValueError, match=rf"^[A-Za-z]+\.{field} must .*, got {value}$"):
        kind(**settings, **{field: value})


def test_whole_numbers_may_be_larger_than_floats():
    check("owner", "field", True, "be at least 1", 10**400)


def test_the_error_names_owner_field_rule_and_value():
    with pytest.raises(ValueError, match=r"^Masking\.rate must be between 0 and 1, got '7'$"):
        check("Masking", "rate", False, "be between 0 and 1", "7")
