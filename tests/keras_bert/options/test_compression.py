import dataclasses

import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.options.compression import WEIGHTS, Imitation, Student

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
    ("settings", "changes"),
    [
        ({"num_layers": 2}, {"num_layers": 2}),
        ({"layers": (3, 0, 2)}, {"num_layers": 3}),
        ({"hidden_size": 16, "num_heads": 2}, {"hidden_size": 16, "num_heads": 2}),
        ({"intermediate_size": 8}, {"intermediate_size": 8}),
    ],
)
def test_sizes_that_are_not_set_are_those_of_the_teacher(settings, changes):
    assert Student(**settings).config(TEACHER, 24) == dataclasses.replace(TEACHER, max_length=24, **changes)


def test_a_student_and_a_teacher_that_break_a_rule_together():
    with pytest.raises(ValueError, match=r"EncoderConfig\.hidden_size must be a multiple of num_heads=4, got 18"):
        Student(hidden_size=18).config(TEACHER, 24)


def test_off_unless_a_loss_weighs_something():
    assert not Imitation().is_on
    assert all(Imitation(**{name: 0.5}).is_on for name in WEIGHTS)


def test_layers_that_are_there():
    Imitation(hidden_states=1.0).check_layers(4, 4)
    Imitation(hidden_states=1.0, layer_map=(0, 0, 1)).check_layers(3, 2)
    Imitation(relations=1.0, teacher_layer=-4).check_layers(9, 4)


@pytest.mark.parametrize(("width", "message"), [(3, 3), (None, 4)])
def test_widths_that_cannot_be_cut(width, message):
    rule = "divide the widths of queries, 6 in the student and 8 in the teacher"
    with pytest.raises(ValueError, match=rf"^Imitation\.relation_heads must {rule}, got {message}$"):
        Imitation(relations=1.0, relation_heads=width).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_heads=2).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_kind="attention_value").check_widths(6, 8, heads=4)
