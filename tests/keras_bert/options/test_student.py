import dataclasses

import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.options.student import Student
from tests.keras_bert.options.refusals import check_refusal

TEACHER = EncoderConfig(
    num_layers=4,
    hidden_size=32,
    num_heads=4,
    intermediate_size=64,
    vocabulary_size=50,
    max_length=512,
    activation="gelu_erf",
    dropout=0.2,
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "num_layers must be set, or layers, got None"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"hidden_size": -1}, "hidden_size must be positive, got -1"),
        ({"num_heads": 0}, "num_heads must be positive, got 0"),
        ({"intermediate_size": 0}, "intermediate_size must be positive, got 0"),
        ({"layers": ()}, "layers must not be empty, got ()"),
        ({"layers": (0, -1)}, "layers.1 must be at least 0, got -1"),
        ({"embedding_rank": 0}, "embedding_rank must be positive, got 0"),
        ({"layers": (0, 3), "num_layers": 2}, "num_layers must be left out beside layers=[0, 3], got 2"),
        ({"layers": (0,), "hidden_size": 8}, "hidden_size must be left out beside layers=[0], got 8"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Student, settings, message)


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"num_layers": 2}, {"num_layers": 2}),
        ({"layers": (3, 0, 2)}, {"num_layers": 3}),
        ({"hidden_size": 16, "num_heads": 2}, {"hidden_size": 16, "num_heads": 2}),
        ({"intermediate_size": 8}, {"intermediate_size": 8}),
    ],
)
def test_what_is_left_out_is_as_in_the_teacher(settings, changes):
    assert Student(**settings).config(TEACHER, 24) == dataclasses.replace(TEACHER, max_length=24, **changes)


def test_a_student_and_a_teacher_that_break_a_rule_together():
    with pytest.raises(ValueError, match=r"EncoderConfig\.hidden_size must be a multiple of num_heads=4, got 18"):
        Student(hidden_size=18).config(TEACHER, 24)
