import re

import pytest

from keras_bert.options.imitation import WEIGHTS, Imitation
from tests.keras_bert.options.refusals import check_refusal

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
def test_refused(settings, message):
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
