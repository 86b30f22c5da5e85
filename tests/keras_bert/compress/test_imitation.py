"""Every task with every loss: its sums are those of its own function, and gradients reach the student alone."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.compress.comparison import make_losses, map_layers
from keras_bert.compress.imitation import ImitationObjective, StatesObjective
from keras_bert.models.states import AttentionLayout, AttentionReader, hidden_states
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.imitation import OUTPUT, cosines, similarity_matrix
from keras_bert.options.compression import OF_EMBEDDINGS, OF_STATES, WEIGHTS, Distillation, Imitation, StateImitation
from tests.keras_bert.objectives.kinds import KINDS, build

NARROW = {"num_layers": 1, "hidden_size": 4, "intermediate_size": 8}
PROJECTIONS = {"cosine_projection", "embeddings_hidden_states_projection", "hidden_states_projection"}


def weights_for(kind):
    names = [name for name in WEIGHTS if kind == "embedding" or name not in OF_EMBEDDINGS]
    return {name: 0.5 + place for place, name in enumerate(names)}


def make(kind, student=None, teacher=None, **settings):
    task, batch = KINDS[kind]
    student = student or build(kind, **NARROW)
    given = settings or {**weights_for(kind), "relation_heads": 2}
    objective = ImitationObjective(task, student, teacher or build(kind, seed=1), Distillation(), Imitation(**given))
    return objective, student, batch


def numbers(sums):
    return {name: [float(part) for part in pair] for name, pair in sums.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_takes_every_loss(kind):
    objective, student, batch = make(kind)
    teacher = build(kind, seed=1)
    sums = numbers(objective(objective.joint, batch, training=False))
    plain = DistillationObjective(KINDS[kind].objective, teacher, Distillation())
    for name, pair in numbers(plain(student, batch, training=False)).items():
        assert sums.pop(name) == pytest.approx(pair, rel=1e-5)
    assert list(sums) == [f"{name}_loss" for name in weights_for(kind)]
    assert min(total for total, _ in sums.values()) > 0
    # What the step divides by: a loss that weighs more is divided by less.
    weights = {name: float(weight) for name, weight in objective.weights(batch).items()}
    expected = {f"{name}_loss": sums[f"{name}_loss"][1] / weight for name, weight in weights_for(kind).items()}
    assert weights == pytest.approx({**expected, "loss": float(plain.weights(batch)["loss"])})
    alone = objective.without_answers()
    assert alone.weights(batch).keys() == expected.keys()
    assert numbers(alone(alone.joint, batch, training=False)).keys() == {*sums, *numbers(plain(student, batch, False))}


def test_states_go_through_the_learned_matrices():
    objective, student, batch = make("classification", hidden_states=1.0, cosine=1.0)
    teacher = build("classification", seed=1)
    inputs = {spec.name: batch[spec.name] for spec in student.inputs}
    ours, theirs = (
        [np.asarray(state) for state in keras.Model(model.input, hidden_states(model))(inputs)]
        for model in (student, teacher)
    )
    matrices = {name: objective.joint.get_layer(name).kernel.numpy() for name in PROJECTIONS}
    real = batch["padding_mask"] > 0
    pairs = [
        (ours[0] @ matrices["embeddings_hidden_states_projection"], theirs[0]),
        (ours[1] @ matrices["hidden_states_projection"], theirs[2]),
    ]
    sums = numbers(objective(objective.joint, batch, training=False))
    expected = sum(((ours_[real] - other[real]) ** 2).mean(axis=-1).sum() for ours_, other in pairs)
    assert sums["hidden_states_loss"] == pytest.approx([expected, real.sum()], rel=1e-5)
    expected = (1 - np.asarray(cosines(ours[1] @ matrices["cosine_projection"], theirs[2]))[real]).sum()
    assert sums["cosine_loss"] == pytest.approx([expected, real.sum()], rel=1e-5)


def test_scores_of_each_head_in_the_layers_of_the_map():
    objective, student, batch = make("classification", attentions=1.0, layer_map=(0,))
    teacher, inputs = build("classification", seed=1), {name: batch[name] for name in student.input}
    (ours,), (theirs,) = (
        AttentionReader(model, {"scores": [0]}).run(inputs, training=False)[1]["scores"] for model in (student, teacher)
    )
    pairs = batch["padding_mask"][:, :, None] * batch["padding_mask"][:, None, :]
    expected = (((np.asarray(ours) - np.asarray(theirs)) ** 2).mean(axis=1) * pairs).sum()
    sums = numbers(objective(objective.joint, batch, training=False))
    assert sums["attentions_loss"] == pytest.approx([expected, pairs.sum()], rel=1e-4)


def test_all_texts_of_both_sides_of_the_pairs_are_compared():
    objective, student, batch = make("embedding", similarities=1.0)
    texts = KINDS["embedding"].objective.inputs(student, batch)
    matrices = [np.asarray(similarity_matrix(model(texts))) for model in (student, build("embedding", seed=1))]
    expected = ((matrices[0] - matrices[1]) ** 2).sum()
    sums = numbers(objective(objective.joint, batch, training=False))
    assert sums["similarities_loss"] == pytest.approx([expected, len(matrices[0]) ** 2], rel=1e-4)
    assert len(matrices[0]) == 2 * len(batch["token_ids"])


@pytest.mark.parametrize("kind", ["classification", "embedding"])
def test_padding_changes_nothing(kind):
    objective, _, batch = make(kind)
    other = {**batch}
    for side in ("", "second_") if kind == "embedding" else ("",):
        hidden = batch[f"{side}padding_mask"] == 0
        other[f"{side}token_ids"] = np.where(hidden, 3, batch[f"{side}token_ids"])
        assert hidden.any()
    first, second = (
        numbers(objective(objective.joint, model_inputs, training=False)) for model_inputs in (batch, other)
    )
    for name in weights_for(kind):
        assert second[f"{name}_loss"] == pytest.approx(first[f"{name}_loss"], rel=1e-4)


def test_a_model_that_is_its_own_teacher_has_nothing_to_imitate_and_another_is_refused():
    teacher = build("embedding", seed=1)
    objective, _, batch = make("embedding", build("embedding", seed=1), teacher, **weights_for("embedding"))
    sums = numbers(objective(objective.joint, batch, training=False))
    for name in WEIGHTS:
        assert sums[f"{name}_loss"][0] == pytest.approx(0, abs=1e-4), name
    # As wide as the teacher, there is nothing to learn between them.
    assert len(objective.joint.weights) == len(teacher.weights)
    objective, student, batch = make("classification", cosine=1.0)
    with pytest.raises(ValueError, match=r"^model must be the objective's joint model, got 'classification'$"):
        objective(student, batch, training=False)


class Both(keras.Model):
    """A joint model and the teacher as one, so that a step might move either."""

    def __init__(self, joint, teacher, objective):
        super().__init__()
        self.joint, self.teacher, self.objective = joint, teacher, objective

    def call(self, batch, training=False):
        sums, weights = self.objective(self.joint, batch, training), self.objective.weights(batch)
        total = sum(sums[name][0] / weight for name, weight in weights.items())
        return ops.broadcast_to(total, (len(batch["token_ids"]),))


@pytest.mark.parametrize("kind", ["classification", "embedding"])
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_gradients_reach_the_student_and_the_matrices_alone(kind):
    teacher = build(kind, seed=1)
    objective, student, batch = make(kind, teacher=teacher)
    both = Both(objective.joint, teacher, objective.without_answers())
    both.compile(keras.optimizers.SGD(0.1), loss=lambda _, output: output, run_eagerly=True)
    before = [[weight.numpy() for weight in model.weights] for model in (objective.joint, teacher)]
    both.train_on_batch(batch, np.zeros(len(batch["token_ids"])))
    moved = {w.path for w, was in zip(objective.joint.weights, before[0], strict=True) if np.any(w.numpy() != was)}
    expected = {"token_embedding/embeddings", "block_0/attention/query/kernel", "block_0/attention/value/kernel"}
    assert {*expected, *(f"{name}/kernel" for name in PROJECTIONS)} <= moved
    assert "classifier/kernel" not in moved
    assert {weight.path for weight in student.trainable_weights} < {w.path for w in objective.joint.trainable_weights}
    for weight, was in zip(teacher.get_weights(), before[1], strict=True):
        np.testing.assert_array_equal(weight, was)


def test_what_it_minimizes_has_a_name():
    student, teacher = build("classification", **NARROW), build("classification", seed=1)
    options = {"hidden_states": 1.0}

    def name(**changes):
        objective, *_ = make("classification", student, teacher, **{**options, **changes})
        return json.dumps(objective.identity()), json.dumps(objective.without_answers().identity())

    names = [name(), name(hidden_states=2.0), name(layer_map=(0,)), name(cosine=1.0), name(relations=1.0)]
    names += [name(relations=1.0, teacher_layer=0), name(relations=1.0, relation_heads=1)]
    assert len({one_name for pair in names for one_name in pair}) == 2 * len(names)
    assert name() == names[0]


def test_states_alone_are_compared_as_beside_answers():
    weights = {name: 0.5 + place for place, name in enumerate(OF_STATES)}
    beside, student, batch = make("classification", **weights, relation_heads=2)
    alone = StatesObjective(student, build("classification", seed=1), StateImitation(**weights, relation_heads=2))
    for name in PROJECTIONS:
        alone.joint.get_layer(name).set_weights(beside.joint.get_layer(name).get_weights())
    texts = {name: value for name, value in batch.items() if name in ("token_ids", "segment_ids", "padding_mask")}
    sums, whole = numbers(alone(alone.joint, texts, False)), numbers(beside(beside.joint, batch, False))
    assert sums == {f"{name}_loss": pytest.approx(whole[f"{name}_loss"]) for name in OF_STATES}
    weights_, expected = alone.weights(texts), beside.without_answers().weights(batch)
    assert {name: float(value) for name, value in weights_.items()} == {
        name: float(value) for name, value in expected.items()
    }
    assert alone.identity()["imitation.cosine"] == 3.5
    json.dumps(alone.identity())
    with pytest.raises(ValueError, match=r"^model must be the objective's joint model"):
        alone(student, texts, False)


def test_what_losses_compare_and_that_what_has_no_weight_is_not_there():
    with pytest.raises(ValueError, match=r"^Imitation.relations must be above 0 where hidden_states, attentions and "):
        StatesObjective(build("classification", **NARROW), build("classification"), StateImitation())
    assert losses_of() == []
    assert [loss.name for loss in losses_of(**dict.fromkeys(reversed(WEIGHTS), 1.0))] == list(WEIGHTS)
    assert map_layers(Imitation(), 2, 6) == (2, 5)
    assert map_layers(Imitation(hidden_states=1.0, layer_map=(5, 1)), 2, 6) == (5, 1)
    (relations,) = losses_of(relations=1.0, relation_kind="attention_value")
    assert list(relations.student.attention_layers) == ["scores", "value"]
    assert losses_of(relations=1.0, relation_heads=1)[0].heads == 1


STUDENT = AttentionLayout(2, 2, 6, frozenset(), "SelfAttention")
TEACHER = AttentionLayout(6, 2, 8, frozenset(), "SelfAttention")


def losses_of(student=STUDENT, teacher=TEACHER, embeds=True, **settings):
    return make_losses(Imitation(**settings), student, teacher, embeds=embeds)


def test_what_each_loss_reads():
    states, scores = losses_of(hidden_states=1.0, attentions=1.0, layer_map=(0, 4))
    # Of states 0 is what the embeddings give.
    assert (states.student.states, states.teacher.states) == ((0, 1, 2), (0, 1, 5))
    assert (scores.student.attention_layers, scores.teacher.attention_layers) == (
        {"scores": (0, 1)},
        {"scores": (0, 4)},
    )
    (cosine,) = losses_of(cosine=1.0)
    assert (cosine.student.states, cosine.teacher.states) == ((2,), (6,))
    for loss in losses_of(vectors=1.0, similarities=1.0):
        assert loss.student.states == loss.teacher.states == (OUTPUT,)


@pytest.mark.parametrize(("chosen", "layer"), [(-1, 5), (-2, 4), (0, 0), (3, 3)])
def test_relations_are_those_of_one_layer_of_the_teacher(chosen, layer):
    (relations,) = losses_of(relations=1.0, teacher_layer=chosen)
    kinds = ("query", "key", "value")
    assert relations.student.attention_layers == dict.fromkeys(kinds, (1,))
    assert relations.teacher.attention_layers == dict.fromkeys(kinds, (layer,))
    assert relations.heads == 2


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
        losses_of(**models, **settings)


def test_what_an_attention_does_not_tell_is_refused_to_those_alone_who_ask():
    assert losses_of(teacher=LONG, student=MUTE, hidden_states=1.0, cosine=1.0)
    assert losses_of(teacher=LONG, relations=1.0)
