"""What every layer must keep to."""

import keras
import numpy as np
from keras import ops

from keras_bert.models.saving import load_model, save_model
from tests.keras_bert.tiny import EAGER

# Softmax does not see what is added to all of a row's scores alike.
WITHOUT_GRADIENT = ("key/bias",)


def check_layer(kind, settings, arrays, folder):
    """Runs every check on `kind(**settings)` called on `arrays`."""
    check_config(kind, settings)
    check_precision(kind, settings, arrays)
    model = make_model(kind, settings, arrays)
    check_saving(model, arrays, folder)
    check_gradients(model, arrays)


def make_model(kind, settings, arrays):
    """The layer as a model."""
    inputs = [keras.Input(array.shape[1:], dtype=array.dtype.name) for array in arrays]
    return keras.Model(inputs, kind(**settings, name="brick")(*inputs))


def check_config(kind, settings):
    """`get_config` holds all that the constructor was told, and makes an equal layer."""
    layer = kind(**settings, name="brick")
    config = layer.get_config()
    assert dict(settings).items() <= config.items()
    assert kind.from_config(config).get_config() == config


def check_precision(kind, settings, arrays):
    """Weights stay float32; results have the compute type and about the same values."""
    exact, coarse = kind(**settings), kind(**settings, dtype="mixed_bfloat16")
    expected, _ = exact(*arrays), coarse(*arrays)
    coarse.set_weights(exact.get_weights())
    result = coarse(*arrays)
    assert keras.backend.standardize_dtype(expected.dtype) == "float32"
    assert keras.backend.standardize_dtype(result.dtype) == "bfloat16"
    assert {weight.dtype for weight in coarse.weights} <= {"float32", "uint32"}
    # The bias of a hidden position is around -120, everything else around 1.
    np.testing.assert_allclose(ops.cast(result, "float32"), expected, rtol=0.05, atol=0.05)


def check_saving(model, arrays, folder):
    """A saved and loaded model gives equal results."""
    save_model(model, folder / "model.keras")
    np.testing.assert_array_equal(load_model(folder / "model.keras")(arrays), model(arrays))


def check_gradients(model, arrays):
    """Each trainable weight changes the result: a step of gradient descent moves it."""
    if not model.trainable_weights:
        return
    before = [weight.numpy() for weight in model.trainable_weights]
    directions = np.random.default_rng(1).normal(size=model(arrays).shape).astype("float32")
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss=lambda labels, outputs: labels * outputs, **EAGER)
    model.train_on_batch(arrays, directions)
    for weight, value in zip(model.trainable_weights, before, strict=True):
        assert np.any(weight.numpy() != value) or weight.path.endswith(WITHOUT_GRADIENT), weight.path
