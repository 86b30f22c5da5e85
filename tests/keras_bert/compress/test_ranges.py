import keras
import numpy as np
import pytest

from keras_bert.compress.ranges import fixed_ranges, taps
from keras_bert.layers.tap import TapLayer
from tests.keras_bert.compress import tiny

RANGES = {"embeddings_norm_tap": (-1.5, 2.25), "block_0/attention/context_tap": (0.0, 1e-3)}


def test_activations_are_rounded_inside_alone():
    # A model of one tap: 255 steps of 0.1 from -5 to 20.5.
    inputs = keras.Input((4,))
    model = keras.Model(inputs, TapLayer(name="tap")(inputs))
    values = np.array([[-99.0, 0.04, 0.06, 99.0]], "float32")
    with fixed_ranges(model, {"tap": (-5.0, 20.5)}):
        np.testing.assert_allclose(model(values), [[-5.0, 0.0, 0.1, 20.5]], atol=1e-5)
        np.testing.assert_allclose(model.predict(values, verbose=0), [[-5.0, 0.0, 0.1, 20.5]], atol=1e-5)
    np.testing.assert_array_equal(model.predict(values, verbose=0), values)


def test_16_bits_are_steps_around_0_and_tables_keep_8():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, TapLayer(name="tap")(inputs))
    with fixed_ranges(model, {"tap": (-32.767, 32.767)}, bits=16):
        np.testing.assert_allclose(model(np.array([[-99.0, 1.0004, 0.0]])), [[-32.767, 1.0, 0.0]], atol=1e-5)
    model, rows = tiny.build(), tiny.make_rows(4)[0]
    table = {"token_embedding/output_tap": (-1.0, 1.0)}
    with fixed_ranges(model, table):
        expected = model.predict(rows, verbose=0)
    with fixed_ranges(model, table, bits=16):
        np.testing.assert_array_equal(model.predict(rows, verbose=0), expected)


def test_an_error_inside_closes_the_taps_again():
    model = tiny.build()
    with pytest.raises(RuntimeError, match="inside"), fixed_ranges(model, RANGES):
        raise RuntimeError("inside")
    assert all(tap.transform is None for tap in taps(model).values())


def test_layers_are_found_however_deep_they_stand():
    assert {"embeddings_norm_tap", "block_0/attention/key/output_tap"} <= taps(tiny.build()).keys()


def test_two_layers_of_one_path_are_refused():
    inputs = keras.Input((4,))
    inner = [keras.Sequential([keras.Input((4,)), TapLayer(name="tap")], name="twin") for _ in range(2)]
    outer = keras.Model(inputs, inner[0](inputs))
    outer.other = inner[1]
    with pytest.raises(ValueError, match=r"the path of a part must be unique, got '.*tap' twice"):
        taps(outer)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"block_9/tap": (0.0, 1.0)}, "must name taps of the model, got 'block_9/tap'"),
        ({"embeddings_norm_tap": (1.0, 2.0)}, r"must span zero and more, got \[1.0, 2.0\]"),
        ({"embeddings_norm_tap": (0.0, 0.0)}, "must span zero and more"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(ranges, message):
    with pytest.raises(ValueError, match=message), fixed_ranges(tiny.build(), ranges):
        pass
