"""Queries are padded to their own length, passages and negatives to theirs: the vectors do not change."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.options.compression import Distillation, Imitation
from keras_bert.training.gradient_cache import count_tokens
from tests.keras_bert.models.test_encoder import make_inputs
from tests.keras_bert.objectives.kinds import KINDS, build

OBJECTIVE = RetrievalObjective()
NARROW = {**KINDS["retrieval"].batch, **make_inputs(length=4)}
PADDED = {**NARROW, **{name: np.pad(NARROW[name], ((0, 0), (0, 3))) for name in make_inputs()}}


@pytest.fixture(scope="module")
def model():
    return build("retrieval")


def test_vectors_and_losses_are_those_of_padded_queries(model):
    vectors = [OBJECTIVE.run(model, batch, training=False) for batch in (NARROW, PADDED)]
    assert vectors[0].shape == (9, model.output.shape[-1])
    np.testing.assert_allclose(*vectors, atol=1e-6)
    sums = [OBJECTIVE(model, batch, training=False) for batch in (NARROW, PADDED)]
    np.testing.assert_allclose(*(batch_sums["loss"][0] for batch_sums in sums), rtol=1e-5)
    assert (
        float(count_tokens(NARROW))
        == float(count_tokens(PADDED))
        == sum(NARROW[name].sum() for name in ("padding_mask", "second_padding_mask", "negative_padding_mask"))
    )


def test_inputs_of_one_call_are_padded(model):
    inputs = OBJECTIVE.inputs(model, NARROW)
    for name, values in inputs.items():
        np.testing.assert_array_equal(values, OBJECTIVE.inputs(model, PADDED)[name])
    np.testing.assert_allclose(
        OBJECTIVE.answers(model(inputs)), OBJECTIVE.run(model, NARROW, training=False), atol=1e-6
    )


def test_graphs_of_unknown_lengths(model):
    shapes = {name: tf.TensorSpec([None] * values.ndim, tf.int32) for name, values in NARROW.items()}
    run = tf.function(lambda batch: OBJECTIVE.run(model, batch, training=False), input_signature=[shapes])
    inputs = tf.function(lambda batch: OBJECTIVE.inputs(model, batch), input_signature=[shapes])
    for batch in (NARROW, PADDED):
        np.testing.assert_allclose(run(batch), OBJECTIVE.run(model, batch, training=False), atol=1e-6)
        np.testing.assert_array_equal(inputs(batch)["token_ids"], OBJECTIVE.inputs(model, PADDED)["token_ids"])


def test_states_are_imitated_of_queries_too(model):
    student = build("retrieval", seed=3)
    objective = ImitationObjective(OBJECTIVE, student, model, Distillation(), Imitation(hidden_states=1.0))
    narrow, padded = (objective(objective.joint, batch, training=False) for batch in (NARROW, PADDED))
    assert "hidden_states_loss" in narrow
    for name, pair in padded.items():
        np.testing.assert_allclose(narrow[name], pair, rtol=1e-4, atol=1e-5)
