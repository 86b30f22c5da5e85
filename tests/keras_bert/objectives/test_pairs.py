"""Queries are padded to their own length, passages and negatives to theirs: the vectors do not change."""

import numpy as np
import pytest

pytest.importorskip("tensorflow", reason="parts of a batch are TensorFlow's")

import tensorflow as tf

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.objectives.tasks import EmbeddingObjective
from keras_bert.options.compression import Distillation, Imitation
from keras_bert.training.gradient_cache import count_tokens
from tests.keras_bert.models.test_encoder import make_inputs
from tests.keras_bert.objectives.kinds import COSINES, INPUTS, KINDS, ROWS, SECOND, build, random_outputs, run

OBJECTIVE, BATCH = KINDS["embedding"]


def cosines(model):
    """Of the pairs (rows,), each text run by itself."""
    second = {name: SECOND[f"second_{name}"] for name in INPUTS}
    pairs = zip(*(np.asarray(model(inputs), "float64") for inputs in (INPUTS, second)), strict=True)
    return np.array([left @ right / np.linalg.norm(left) / np.linalg.norm(right) for left, right in pairs])


def test_the_loss_is_the_squared_error_of_the_cosines():
    model = build("embedding", seed=1)
    errors = cosines(model) - COSINES
    sums = run(OBJECTIVE, model, BATCH)
    assert sums["loss"] == pytest.approx([(errors**2).sum(), ROWS], rel=1e-4)
    assert sums["absolute_error"] == pytest.approx([np.abs(errors).sum(), ROWS], rel=1e-4)
    assert sums.keys() == {"loss", "absolute_error"}


def test_what_is_run_gives_cosines_in_float32_and_dropout_follows_training():
    model = build("embedding", seed=1)
    actual_cosines = OBJECTIVE.run(model, BATCH, training=False)
    assert (actual_cosines.shape, actual_cosines.dtype) == ((ROWS,), "float32")
    np.testing.assert_allclose(actual_cosines, cosines(model), atol=1e-5)
    turned = {**BATCH, **{name: BATCH[f"second_{name}"] for name in INPUTS}}
    turned |= {f"second_{name}": BATCH[name] for name in INPUTS}
    np.testing.assert_allclose(OBJECTIVE.run(model, turned, training=False), actual_cosines, atol=1e-5)
    same = {**BATCH, **{f"second_{name}": BATCH[name] for name in INPUTS}}
    np.testing.assert_allclose(OBJECTIVE.run(model, same, training=False), np.ones(ROWS), atol=1e-5)
    model = build("embedding", dropout=0.5)
    same = {**BATCH, **{f"second_{name}": BATCH[name] for name in INPUTS}}
    assert np.max(OBJECTIVE.run(model, same, training=True)) < 0.999


def test_the_distance_is_of_cosines_so_that_widths_may_differ():
    student, teacher = random_outputs(ROWS)
    for temperature in (1.0, 3.0):
        distance = EmbeddingObjective().distances(student, teacher, BATCH, temperature)
        assert float(np.sum(distance)) == pytest.approx(((student - teacher) ** 2).sum(), rel=1e-5)
    wide = build("embedding", hidden_size=12)
    outputs = [OBJECTIVE.run(model, BATCH, training=False) for model in (build("embedding", seed=1), wide)]
    expected = ((cosines(build("embedding", seed=1)) - cosines(wide)) ** 2).sum()
    assert float(np.sum(OBJECTIVE.distances(*outputs, BATCH, 1.0))) == pytest.approx(expected, rel=1e-4)


SEARCH = RetrievalObjective()
NARROW = {**KINDS["retrieval"].batch, **make_inputs(length=4)}
PADDED = {**NARROW, **{name: np.pad(NARROW[name], ((0, 0), (0, 3))) for name in make_inputs()}}


@pytest.fixture(scope="module")
def model():
    return build("retrieval")


def test_vectors_losses_inputs_and_graphs_are_those_of_padded_queries(model):
    vectors = [SEARCH.run(model, batch, training=False) for batch in (NARROW, PADDED)]
    assert vectors[0].shape == (9, model.output.shape[-1])
    np.testing.assert_allclose(*vectors, atol=1e-6)
    sums = [SEARCH(model, batch, training=False) for batch in (NARROW, PADDED)]
    np.testing.assert_allclose(*(batch_sums["loss"][0] for batch_sums in sums), rtol=1e-5)
    assert (
        float(count_tokens(NARROW))
        == float(count_tokens(PADDED))
        == sum(NARROW[name].sum() for name in ("padding_mask", "second_padding_mask", "negative_padding_mask"))
    )
    inputs = SEARCH.inputs(model, NARROW)
    for name, values in inputs.items():
        np.testing.assert_array_equal(values, SEARCH.inputs(model, PADDED)[name])
    np.testing.assert_allclose(SEARCH.answers(model(inputs)), SEARCH.run(model, NARROW, training=False), atol=1e-6)
    shapes = {name: tf.TensorSpec([None] * values.ndim, tf.int32) for name, values in NARROW.items()}
    run = tf.function(lambda batch: SEARCH.run(model, batch, training=False), input_signature=[shapes])
    inputs = tf.function(lambda batch: SEARCH.inputs(model, batch), input_signature=[shapes])
    for batch in (NARROW, PADDED):
        np.testing.assert_allclose(run(batch), SEARCH.run(model, batch, training=False), atol=1e-6)
        np.testing.assert_array_equal(inputs(batch)["token_ids"], SEARCH.inputs(model, PADDED)["token_ids"])


def test_states_are_imitated_of_queries_too(model):
    student = build("retrieval", seed=3)
    objective = ImitationObjective(SEARCH, student, model, Distillation(), Imitation(hidden_states=1.0))
    narrow, padded = (objective(objective.joint, batch, training=False) for batch in (NARROW, PADDED))
    assert "hidden_states_loss" in narrow
    for name, pair in padded.items():
        np.testing.assert_allclose(narrow[name], pair, rtol=1e-4, atol=1e-5)
