"""What every layer must keep to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.saving import load_model, save_model

# Softmax does not see what is added to all of a row's scores alike.
WITHOUT_GRADIENT = ("key/bias",)


def check_layer(kind: type[keras.layers.Layer], settings: Mapping[str, Any], arrays: list[Any], folder: Path) -> None:
    """Runs every check on `kind(**settings)` called on `arrays`."""
    check_config(kind, settings)
    check_precision(kind, settings, arrays)
    check_gradients(kind, settings, arrays)
    check_saving(kind, settings, arrays, folder)


def check_config(kind: type[keras.layers.Layer], settings: Mapping[str, Any]) -> None:
    """`get_config` holds all that the constructor was told, and makes an equal layer."""
    layer = kind(**settings, name="brick")
    config = layer.get_config()
    assert dict(settings).items() <= config.items()
    assert kind.from_config(config).get_config() == config


def check_precision(kind: type[keras.layers.Layer], settings: Mapping[str, Any], arrays: list[Any]) -> None:
    """Weights stay float32; results have the compute type and about the same values."""
    exact, coarse = kind(**settings), kind(**settings, dtype="mixed_bfloat16")
    expected, _ = exact(*arrays), coarse(*arrays)
    coarse.set_weights(exact.get_weights())
    result = coarse(*arrays)
    assert expected.dtype == tf.float32
    assert result.dtype == tf.bfloat16
    assert {weight.dtype for weight in coarse.weights} <= {"float32", "uint32"}
    # The bias of a hidden position is around -120, everything else around 1.
    np.testing.assert_allclose(tf.cast(result, tf.float32), expected, rtol=0.05, atol=0.05)


def check_gradients(kind: type[keras.layers.Layer], settings: Mapping[str, Any], arrays: list[Any]) -> None:
    """Each trainable weight changes the result."""
    layer = kind(**settings)
    directions = np.random.default_rng(1).normal(size=layer(*arrays).shape)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(layer(*arrays, **_training(layer)) * tf.constant(directions, tf.float32))
    gradients = tape.gradient(total, [weight.value for weight in layer.trainable_weights])
    for weight, gradient in zip(layer.trainable_weights, gradients, strict=True):
        assert gradient is not None, weight.path
        assert np.any(tf.convert_to_tensor(gradient)) or weight.path.endswith(WITHOUT_GRADIENT), weight.path


def check_saving(kind: type[keras.layers.Layer], settings: Mapping[str, Any], arrays: list[Any], folder: Path) -> None:
    """A saved and loaded model gives equal results."""
    inputs = [keras.Input((None,) * (a.ndim - 2) + a.shape[-1:], dtype=a.dtype.name) for a in arrays]
    model = keras.Model(inputs, kind(**settings, name="brick")(*inputs))
    save_model(model, folder / "model.keras")
    np.testing.assert_array_equal(load_model(folder / "model.keras")(arrays), model(arrays))


def _training(layer: keras.layers.Layer) -> dict[str, bool]:
    return {"training": True} if layer._call_has_training_arg else {}
