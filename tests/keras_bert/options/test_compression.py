import dataclasses
import re

import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.options.compression import WEIGHTS, Distillation, Imitation, Pruning, Student, TeacherLabels
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
def test_student_refuses(settings, message):
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
def test_sizes_that_are_not_set_are_those_of_the_teacher(settings, changes):
    assert Student(**settings).config(TEACHER, 24) == dataclasses.replace(TEACHER, max_length=24, **changes)


def test_a_student_and_a_teacher_that_break_a_rule_together():
    with pytest.raises(ValueError, match=r"EncoderConfig\.hidden_size must be a multiple of num_heads=4, got 18"):
        Student(hidden_size=18).config(TEACHER, 24)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0}, "temperature must be positive, got 0"),
        ({"hard_weight": 2}, "hard_weight must be at most 1, got 2"),
        ({"hard_weight": -0.1}, "hard_weight must be at least 0, got -0.1"),
    ],
)
def test_distillation_refuses(settings, message):
    check_refusal(Distillation, settings, message)


def test_teacher_and_labels_may_each_have_all_the_say():
    assert [Distillation(hard_weight=share).hard_weight for share in (0, 1)] == [0, 1]


ALL = "hidden_states, attentions, relations, cosine, vectors, similarities"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({name: -1.0}, f"{name} must be at least 0, got -1.0") for name in WEIGHTS),
        (
            {"relations": 1.0, "relation_kind": "values"},
            "relation_kind must be 'query_key_value' or 'attention_value', got 'values'",
        ),
        ({"relations": 1.0, "relation_heads": 0}, "relation_heads must be positive, got 0"),
        ({"cosine": 1.0, "intermediate_steps": 1.0}, "intermediate_steps must be below 1, got 1.0"),
        (
            {"hidden_states": 1.0, "layer_map": (0, -1)},
            "layer_map.1 must be at least 0, got -1",
        ),
        # What no loss reads.
        ({"layer_map": (0,)}, "layer_map must be left out where hidden_states and attentions are 0, got (0,)"),
        (
            {"relations": 1.0, "layer_map": (0,)},
            "layer_map must be left out where hidden_states and attentions are 0, got (0,)",
        ),
        ({"teacher_layer": 3}, "teacher_layer must be left out where relations is 0, got 3"),
        ({"relation_heads": 3}, "relation_heads must be left out where relations is 0, got 3"),
        (
            {"relation_kind": "attention_value"},
            "relation_kind must be left out where relations is 0, got 'attention_value'",
        ),
        (
            {"relations": 1.0, "relation_kind": "attention_value", "relation_heads": 2},
            "relation_heads must be left out where relation_kind is 'attention_value', got 2",
        ),
        ({"intermediate_steps": 0.5}, f"intermediate_steps must be left out where {ALL} are 0, got 0.5"),
    ],
)
def test_imitation_refuses(settings, message):
    check_refusal(Imitation, settings, message)


def test_off_unless_a_loss_weighs_something():
    assert not Imitation().is_on
    assert all(Imitation(**{name: 0.5}).is_on for name in WEIGHTS)


@pytest.mark.parametrize(
    ("settings", "layers", "message"),
    [
        ({"hidden_states": 1.0}, (3, 2), "layer_map must be set where the student has more layers, 3, than the teach"),
        (
            {"attentions": 1.0, "layer_map": (1,)},
            (2, 4),
            "layer_map must name for each of the student's 2 layers one of the teacher's, 0 to 3, got [1]",
        ),
        (
            {"attentions": 1.0, "layer_map": (1, 4)},
            (2, 4),
            "layer_map must name for each of the student's 2 layers one of the teacher's, 0 to 3, got [1, 4]",
        ),
        ({"relations": 1.0, "teacher_layer": 4}, (2, 4), "teacher_layer must be from -4 to 3, the teacher's layers"),
        ({"relations": 1.0, "teacher_layer": -5}, (2, 4), "teacher_layer must be from -4 to 3, the teacher's layers"),
    ],
)
def test_layers_that_are_not_there(settings, layers, message):
    with pytest.raises(ValueError, match=rf"^Imitation\.{re.escape(message)}"):
        Imitation(**settings).check_layers(*layers)


def test_layers_that_are_there():
    Imitation(hidden_states=1.0).check_layers(4, 4)
    Imitation(hidden_states=1.0, layer_map=(0, 0, 1)).check_layers(3, 2)
    Imitation(relations=1.0, teacher_layer=-4).check_layers(9, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attentions": 1.0}, "attentions must be 0 where the student has 2 heads and the teacher 4, got 1.0"),
        (
            {"relations": 1.0, "relation_kind": "attention_value"},
            "relation_kind must be 'query_key_value' where the student has 2 heads and the teacher 4, "
            "got 'attention_value'",
        ),
    ],
)
def test_heads_that_cannot_be_held_against_each_other(settings, message):
    with pytest.raises(ValueError, match=rf"^Imitation\.{re.escape(message)}$"):
        Imitation(**settings).check_heads(2, 4)
    Imitation(**settings).check_heads(4, 4)


@pytest.mark.parametrize(("width", "message"), [(3, 3), (None, 4)])
def test_widths_that_cannot_be_cut(width, message):
    rule = "divide the widths of queries, 6 in the student and 8 in the teacher"
    with pytest.raises(ValueError, match=rf"^Imitation\.relation_heads must {rule}, got {message}$"):
        Imitation(relations=1.0, relation_heads=width).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_heads=2).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_kind="attention_value").check_widths(6, 8, heads=4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"copies": -1}, "copies must be at least 0, got -1"),
        ({"replaced": 0.0}, "replaced must be positive, got 0.0"),
        ({"candidates": 0}, "candidates must be positive, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_teacher_labels_refuse(settings, message):
    check_refusal(TeacherLabels, settings, message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": 1.5}, "sparsity must be below 1, got 1.5"),
        ({"sparsity": 0.0}, "sparsity must be positive, got 0.0"),
        ({"pattern": "1:4"}, "pattern must be 'unstructured' or '2:4', got '1:4'"),
        ({"pattern": "2:4", "sparsity": 0.7}, "sparsity must be 0.5 with the pattern '2:4', got 0.7"),
        ({"ramp": 0.0}, "ramp must be positive, got 0.0"),
    ],
)
def test_pruning_refuses(settings, message):
    check_refusal(Pruning, settings, message)
