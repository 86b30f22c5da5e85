import numpy as np
import pytest

from keras_bert.objectives.tasks import EmbeddingObjective
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


def test_what_is_run_gives_cosines_in_float32_whatever_the_vectors_are():
    model = build("embedding", seed=1)
    actual_cosines = OBJECTIVE.run(model, BATCH, training=False)
    assert (actual_cosines.shape, actual_cosines.dtype) == ((ROWS,), "float32")
    np.testing.assert_allclose(actual_cosines, cosines(model), atol=1e-5)
    turned = {**BATCH, **{name: BATCH[f"second_{name}"] for name in INPUTS}}
    turned |= {f"second_{name}": BATCH[name] for name in INPUTS}
    np.testing.assert_allclose(OBJECTIVE.run(model, turned, training=False), actual_cosines, atol=1e-5)
    same = {**BATCH, **{f"second_{name}": BATCH[name] for name in INPUTS}}
    np.testing.assert_allclose(OBJECTIVE.run(model, same, training=False), np.ones(ROWS), atol=1e-5)


def test_dropout_follows_training():
    model = build("embedding", dropout=0.5)
    same = {**BATCH, **{f"second_{name}": BATCH[name] for name in INPUTS}}
    assert np.max(OBJECTIVE.run(model, same, training=True)) < 0.999


def test_the_distance_is_of_cosines_so_that_widths_may_differ():
    student, teacher = random_outputs(ROWS)
    for temperature in (1.0, 3.0):
        distance = EmbeddingObjective().distance(student, teacher, BATCH, temperature)
        assert float(distance) == pytest.approx(((student - teacher) ** 2).sum(), rel=1e-5)
    wide = build("embedding", hidden_size=12)
    outputs = [OBJECTIVE.run(model, BATCH, training=False) for model in (build("embedding", seed=1), wide)]
    expected = ((cosines(build("embedding", seed=1)) - cosines(wide)) ** 2).sum()
    assert float(OBJECTIVE.distance(*outputs, BATCH, 1.0)) == pytest.approx(expected, rel=1e-4)
