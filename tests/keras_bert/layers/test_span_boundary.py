import keras
import numpy as np
import pytest

from keras_bert.layers.span_boundary import SPAN_POSITIONS, SpanBoundaryTransform, find_boundaries
from tests.conformance import check_config, check_gradients, check_precision
from tests.keras_bert.models.test_encoder import ACTIVATIONS, dense, layer_norm

SETTINGS = {"units": 6, "activation": "gelu_erf", "layer_norm_epsilon": 0.01, "initializer_range": 0.2}
STATES = np.random.default_rng(0).normal(size=(2, 9, 8)).astype("float32")
POSITIONS = np.array([[1, 3, 4, 5], [6, 7, 0, 0]], "int32")


def boundaries_of(positions):
    """One hidden token after the other, walking to both sides."""
    hidden, boundaries = set(positions) - {0}, []
    for position in positions:
        left = right = position
        while left in hidden:
            left -= 1
        while right in hidden:
            right += 1
        boundaries.append((left, right, position - left - 1))
    return np.array(boundaries).T


@pytest.mark.parametrize("positions", [[1, 3, 4, 5], [1, 2, 3, 4], [2, 4, 6, 8], [5, 6, 8, 0], [7, 0, 0, 0]])
def test_boundaries(positions):
    boundaries = np.concatenate(find_boundaries(np.array([positions], "int32")))
    real = np.array(positions) > 0
    np.testing.assert_array_equal(boundaries[:, real], boundaries_of(positions)[:, real])
    assert boundaries[:2].min() >= 0


def test_conformance():
    check_config(SpanBoundaryTransform, SETTINGS)
    check_precision(SpanBoundaryTransform, SETTINGS, [STATES, POSITIONS])
    check_gradients(SpanBoundaryTransform, SETTINGS, [STATES, POSITIONS])


def test_against_numpy():
    keras.utils.set_random_seed(0)
    layer = SpanBoundaryTransform(**SETTINGS, name="head")
    outputs = np.asarray(layer(STATES, POSITIONS))
    weights = {weight.path.removeprefix("head/"): weight.numpy() for weight in layer.weights}
    assert weights["span_positions"].shape == (SPAN_POSITIONS, 200)
    for row, positions in enumerate(POSITIONS.tolist()):
        for number, (left, right, place) in enumerate(boundaries_of(positions).T):
            if positions[number]:
                x = np.concatenate([STATES[row, left], STATES[row, right], weights["span_positions"][place]])
                for step in range(2):
                    x = ACTIVATIONS["gelu_erf"](dense(x, weights, f"dense_{step}"))
                    x = layer_norm(x, weights, f"norm_{step}", 0.01)
                np.testing.assert_allclose(outputs[row, number], x, atol=2e-5)


def test_the_hidden_token_itself_is_not_looked_at():
    layer, other = SpanBoundaryTransform(**SETTINGS), STATES.copy()
    other[0, 4] += 1.0
    before, after = (np.asarray(layer(states, POSITIONS)) for states in (STATES, other))
    np.testing.assert_array_equal(after, before)
    other[0, 6] += 1.0
    assert not np.array_equal(np.asarray(layer(other, POSITIONS))[0, 1:], before[0, 1:])
