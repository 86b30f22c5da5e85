import numpy as np

from keras_bert.families.modernbert.layers import GatedFeedForward
from tests.keras_bert.models.test_encoder import ACTIVATIONS


def test_against_numpy():
    rng = np.random.default_rng(3)
    x, kernel, last = (rng.normal(size=size) for size in ((2, 3, 4), (4, 10), (5, 4)))
    layer = GatedFeedForward(5)
    layer(x.astype("float32"))
    layer.set_weights([kernel, last])
    expected = (ACTIVATIONS["gelu_erf"](x @ kernel[:, :5]) * (x @ kernel[:, 5:])) @ last
    np.testing.assert_allclose(layer(x.astype("float32")), expected, atol=2e-5)


def test_dropout_acts_in_front_of_the_last_product():
    x = np.ones((1, 2, 3), "float32")
    layer = GatedFeedForward(400, dropout=0.5)
    layer(x)
    layer.set_weights([np.ones((3, 800)), np.ones((400, 3))])
    still, moved = np.asarray(layer(x)), np.asarray(layer(x, training=True))
    # All units of a token alike: what is left of 400 equal summands, doubled.
    np.testing.assert_allclose(moved, moved[..., :1] * np.ones(3), rtol=1e-5)
    shares = moved / still
    assert np.all((shares > 0.8) & (shares < 1.2))
    assert not np.allclose(shares, 1)
