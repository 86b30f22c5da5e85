import hashlib

import keras
import numpy as np
import pytest

from keras_bert.core.digests import digest, digest_weights


def make_model(shape=(2, 3), seed=0, name="one"):
    inputs = keras.Input((shape[0],))
    layer = keras.layers.Dense(shape[1], use_bias=False, name=name)
    model = keras.Model(inputs, layer(inputs), name=name)
    layer.kernel.assign(np.random.default_rng(seed).normal(size=6).reshape(shape))
    return model


def test_digests_of_parts_and_of_weights():
    assert digest([b"ab", b"", b"c"]) == hashlib.sha256(b"abc").hexdigest()[:16]
    expected = digest_weights(make_model())
    assert digest_weights(make_model(name="renamed")) == expected
    assert digest_weights(make_model(seed=1)) != expected
    assert digest_weights(make_model(shape=(3, 2))) != expected


@pytest.mark.parametrize(
    "change", [lambda weights: weights[::-1], lambda weights: [np.nextafter(weights[0], 9), *weights[1:]]]
)
def test_order_and_last_bits_count(change):
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(2, use_bias=False), keras.layers.Dense(2, use_bias=False)]
    )
    before = digest_weights(model)
    model.set_weights(change(model.get_weights()))
    assert digest_weights(model) != before
