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


def test_parts_are_digested_one_after_the_other():
    assert digest([b"ab", b"", b"c"]) == hashlib.sha256(b"abc").hexdigest()[:16]


def test_the_digest_of_weights_knows_values_and_shapes_alone():
    digest = digest_weights(make_model())
    assert digest_weights(make_model(name="renamed")) == digest
    assert digest_weights(make_model(seed=1)) != digest
    assert digest_weights(make_model(shape=(3, 2))) != digest


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
