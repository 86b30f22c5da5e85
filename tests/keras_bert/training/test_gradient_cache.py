"""The gradient of a batch in parts equals that of the whole batch where rows are compared across the parts."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.options.compression import Distillation, Imitation
from keras_bert.options.training import Contrast, Training
from keras_bert.training.step import TrainingStep
from tests.keras_bert.models.test_encoder import make_inputs
from tests.keras_bert.objectives.kinds import build

SETTINGS = {"learning_rate": 0.1, "warmup": 0.0, "weight_decay": 0.0, "clip_norm": 1e9, "precision": "float32"}


def make_part(seed, first):
    """Three queries with passages, and two negatives of the second; the last passage is in each part."""
    sides = {"": make_inputs(seed=seed), "second_": make_inputs(seed=seed + 1)}
    negatives = {f"negative_{name}": values[:2] for name, values in make_inputs(seed=seed + 2).items()}
    batch = {f"{prefix}{name}": values for prefix, side in sides.items() for name, values in side.items()}
    passages = np.array([first, first + 1, 99])
    groups = {"answer_groups": passages[:, None], "passage_group": passages}
    groups |= {"negative_group": np.array([first + 50, first + 51]), "negative_row": np.array([1, 1])}
    return {name: tf.constant(values, tf.int32) for name, values in {**batch, **negatives, **groups}.items()}


PARTS = [make_part(0, first=0), make_part(7, first=10), make_part(20, first=20)]


def join(parts):
    whole = {name: tf.concat([part[name] for part in parts], axis=0) for name in parts[0]}
    rows = [part["negative_row"] + 3 * place for place, part in enumerate(parts)]
    return {**whole, "negative_row": tf.concat(rows, axis=0)}


def make_step(contrast, *, accumulation, distilled=False, dropout=0.0, **changes):
    keras.utils.set_random_seed(0)
    objective = RetrievalObjective(contrast)
    if distilled:
        objective = DistillationObjective(objective, build("retrieval", seed=5, hidden_size=12), Distillation())
    model = build("retrieval", seed=1, dropout=dropout, attention_dropout=dropout)
    training = Training(batch_size=9, accumulation=accumulation, **{**SETTINGS, "xla": "off", **changes})
    return TrainingStep(model, objective, training, 10)


def read_gradients(step):
    """The gradients of the parts, without applying them."""
    (sums,) = [step._cache.accumulate(PARTS, tf.constant(1.0))]
    return sums, [gradient.numpy() for gradient in step._gradients]


@pytest.mark.parametrize(("symmetric", "distilled"), [(False, True), (True, False)], ids=["teacher", "symmetric"])
def test_gradients_equal_those_of_the_whole_batch(symmetric, distilled):
    contrast = Contrast(across_micro_batches=True, symmetric=symmetric)
    cached, whole = (make_step(contrast, accumulation=parts, distilled=distilled) for parts in (3, 1))
    sums, gradients = read_gradients(cached)
    batch = join(PARTS)
    with tf.GradientTape() as tape:
        expected_sums = whole.objective(whole.model, batch, training=True)
        loss = expected_sums["loss"][0] / 9
    expected = tape.gradient(loss, [weight.value for weight in whole.model.trainable_variables])
    for name, pair in expected_sums.items():
        np.testing.assert_allclose(sums[name], pair, rtol=1e-4, atol=1e-5)
    assert float(sums["tokens"][0]) == sum(
        float(tf.reduce_sum(part[name])) for part in PARTS for name in part if name.endswith("padding_mask")
    )
    used = [gradient is not None for gradient in expected]
    assert cached._cache.used == np.flatnonzero(used).tolist()
    size = max(float(tf.reduce_max(tf.abs(gradient))) for gradient in expected if gradient is not None)
    for gradient, other in zip(gradients, expected, strict=True):
        if other is not None:
            np.testing.assert_allclose(gradient, tf.convert_to_tensor(other), atol=1e-5 * max(size, 1.0))


@pytest.mark.usefixtures("eager")
def test_a_step_moves_the_weights_as_that_of_the_whole_batch():
    contrast = Contrast(across_micro_batches=True)
    cached, whole = (make_step(contrast, accumulation=parts) for parts in (3, 1))
    (sums,), norm = cached.step(PARTS, 1)
    (expected,), whole_norm = whole.step([join(PARTS)], 1)
    assert float(norm) == pytest.approx(float(whole_norm), rel=1e-4)
    assert float(sums["loss"][0]) == pytest.approx(float(expected["loss"][0]), rel=1e-4)
    # Parts that see themselves alone have another loss: what the setting is for.
    alone = make_step(Contrast(), accumulation=3)
    losses = sum(float(part["loss"][0]) for part in alone.step(PARTS, 1)[0])
    assert losses < float(expected["loss"][0]) - 1.0


@pytest.mark.parametrize("xla", ["off", "parts"])
def test_both_runs_of_a_part_draw_the_same_dropout(xla):
    """With other dropout in the second run, the gradient of the outputs would be that of other outputs."""
    step = make_step(Contrast(across_micro_batches=True), accumulation=3, dropout=0.5, xla=xla)
    cache, seen = step._cache, []
    states = [tf.identity(state) for state in cache._states]
    firsts = [cache._run(part)[0] for part in PARTS]
    after = [tf.identity(state) for state in cache._states]
    assert any(np.any(one != other) for one, other in zip(states, after, strict=True)), "no dropout was drawn"
    for state, value in zip(cache._states, states, strict=True):
        state.assign(value)
    cache._add = lambda part, share: seen.append(cache._run(part)[0])
    cache.accumulate(PARTS, tf.constant(1.0))
    for first, second in zip(firsts, seen, strict=True):
        np.testing.assert_array_equal(first, second)
    # And what follows goes on as if each part had been run once.
    for state, value in zip(cache._states, after, strict=True):
        np.testing.assert_array_equal(state, value)


def test_one_trace_serves_parts_of_all_lengths():
    """A trace for the first part's length would round differently where a training goes on after a kill."""
    step = make_step(Contrast(across_micro_batches=True), accumulation=3)
    lengths = {name: tf.TensorSpec([None] * values.shape.rank, values.dtype) for name, values in PARTS[0].items()}
    step.trace(types.SimpleNamespace(element_spec=lengths))
    runs = step._cache._run, step._cache._add
    assert [run.experimental_get_tracing_count() for run in runs] == [1, 1]
    step.step(PARTS, 1)
    shorter = [
        {name: values[:, :3] if values.shape.rank > 1 else values for name, values in part.items()} for part in PARTS
    ]
    step.step(shorter, 2)
    assert [run.experimental_get_tracing_count() for run in runs] == [1, 1]


def test_nothing_is_cached_for_one_part_and_imitation_is_refused():
    assert make_step(Contrast(across_micro_batches=True), accumulation=1)._cache is None
    assert make_step(Contrast(), accumulation=3)._cache is None
    rule = r"^Contrast.across_micro_batches must be false where states, vectors or similarities are imitated"
    models = build("retrieval"), build("retrieval")
    with pytest.raises(ValueError, match=rule):
        ImitationObjective(
            RetrievalObjective(Contrast(across_micro_batches=True)), *models, Distillation(), Imitation(vectors=1.0)
        )
