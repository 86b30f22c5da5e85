"""Which losses settings ask for, what each reads, and what does not go with two models."""

import pytest

from keras_bert.compress.comparison import make_losses, map_layers
from keras_bert.models.states import AttentionLayout
from keras_bert.objectives.imitation import OUTPUT
from keras_bert.options.compression import WEIGHTS, Imitation

STUDENT = AttentionLayout(2, 2, 6, frozenset(), "SelfAttention")
TEACHER = AttentionLayout(6, 2, 8, frozenset(), "SelfAttention")


def make(student=STUDENT, teacher=TEACHER, embeds=True, **settings):
    return make_losses(Imitation(**settings), student, teacher, embeds=embeds)


def test_what_has_no_weight_is_not_there():
    assert make() == []
    assert [loss.name for loss in make(**dict.fromkeys(reversed(WEIGHTS), 1.0))] == list(WEIGHTS)


def test_layers_are_spread_evenly_where_nothing_is_said():
    assert map_layers(Imitation(), 2, 6) == (2, 5)
    assert map_layers(Imitation(hidden_states=1.0, layer_map=(5, 1)), 2, 6) == (5, 1)


def test_what_each_loss_reads():
    states, scores = make(hidden_states=1.0, attentions=1.0, layer_map=(0, 4))
    # Of states 0 is what the embeddings give.
    assert (states.student.states, states.teacher.states) == ((0, 1, 2), (0, 1, 5))
    assert (scores.student.attended, scores.teacher.attended) == ({"scores": (0, 1)}, {"scores": (0, 4)})
    (cosine,) = make(cosine=1.0)
    assert (cosine.student.states, cosine.teacher.states) == ((2,), (6,))
    for loss in make(vectors=1.0, similarities=1.0):
        assert loss.student.states == loss.teacher.states == (OUTPUT,)


@pytest.mark.parametrize(("chosen", "layer"), [(-1, 5), (-2, 4), (0, 0), (3, 3)])
def test_relations_are_those_of_one_layer_of_the_teacher(chosen, layer):
    (relations,) = make(relations=1.0, teacher_layer=chosen)
    kinds = ("query", "key", "value")
    assert relations.student.attended == dict.fromkeys(kinds, (1,))
    assert relations.teacher.attended == dict.fromkeys(kinds, (layer,))
    assert relations.heads == 2


def test_relations_of_another_kind_or_number():
    (relations,) = make(relations=1.0, relation_kind="attention_value")
    assert list(relations.student.attended) == ["scores", "value"]
    assert make(relations=1.0, relation_heads=1)[0].heads == 1


LONG = TEACHER._replace(unreadable=frozenset({"scores"}), attention="WindowAttention")
MUTE = STUDENT._replace(unreadable=frozenset({"query", "scores"}), attention="Mixing")


@pytest.mark.parametrize(
    ("models", "settings", "message"),
    [
        ({}, {"hidden_states": 1.0, "layer_map": (0, 6)}, "layer_map must name for each of the student's 2 layers one"),
        ({"student": TEACHER, "teacher": STUDENT}, {"attentions": 1.0}, "layer_map must be set where the student has"),
        ({}, {"relations": 1.0, "teacher_layer": 6}, "teacher_layer must be from -6 to 5, the teacher's layers, got 6"),
        (
            {"student": STUDENT._replace(heads=3)},
            {"attentions": 0.5},
            "attentions must be 0 where the student has 3 heads and the teacher 2, got 0.5",
        ),
        (
            {},
            {"relations": 1.0, "relation_heads": 4},
            "relation_heads must divide the widths of queries, 6 in the student and 8 in the teacher, got 4",
        ),
        ({"embeds": False}, {"vectors": 1.0}, "vectors must be 0 except for embeddings of texts, got 1.0"),
        ({"embeds": False}, {"similarities": 2.0}, "similarities must be 0 except for embeddings of texts, got 2.0"),
        (
            {"teacher": LONG},
            {"attentions": 1.0},
            "attentions must be 0 where the attention of the teacher, WindowAttention, does not return scores, got 1.0",
        ),
        (
            {"student": MUTE},
            {"relations": 1.0},
            "relations must be 0 where the attention of the student, Mixing, does not return query, got 1.0",
        ),
    ],
)
def test_what_does_not_go_with_the_models(models, settings, message):
    with pytest.raises(ValueError, match=rf"^Imitation\.{message}"):
        make(**models, **settings)


def test_what_an_attention_does_not_tell_is_refused_to_those_alone_who_ask():
    assert make(teacher=LONG, student=MUTE, hidden_states=1.0, cosine=1.0)
    assert make(teacher=LONG, relations=1.0)
