"""Negatives and squares as products."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.products import replace_with_products
from keras_bert.export.rules.lite_graphs import count_operations


def convert(function, shape=(2, 3)):
    serve = tf.function(function, input_signature=[tf.TensorSpec(shape, tf.float32)], autograph=False)
    return tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()]).convert()


def answer(content, given):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def kinds_of(content, folder):
    (folder / "model.tflite").write_bytes(content)
    return {name.split()[0]: count for name, count in count_operations(folder / "model.tflite").items()}


def test_products_give_the_same_numbers(tmp_path):
    content = convert(lambda x: tf.exp(-x) + tf.square(x) + tf.square(-x + 1.0))
    given = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    made = replace_with_products(content)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    kinds = kinds_of(made, tmp_path)
    assert "MUL" in kinds
    assert not kinds.keys() & {"NEG", "SQUARE"}


def test_a_file_without_them_stays_as_it_is():
    content = convert(lambda x: x + 1.0)
    assert replace_with_products(content) == content


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (lambda x: tf.math.reduce_variance(x, axis=-1, keepdims=True) + x, 1),
        (lambda x: tf.reduce_sum(tf.square(x), axis=2), 1),
        (lambda x: tf.reduce_mean(tf.square(x), -1) - tf.reduce_sum(tf.math.squared_difference(x, 2.0), -1), 2),
        # Along another axis, along two, and where somebody else reads the squares.
        (lambda x: tf.reduce_sum(tf.square(x), axis=1), 0),
        (lambda x: tf.reduce_mean(tf.square(x), axis=(1, 2)), 0),
        (lambda x: tf.reduce_sum(tf.square(x), axis=-1, keepdims=True) + tf.square(x), 0),
    ],
)
def test_sums_of_squares_are_products_of_rows_with_themselves(function, products, tmp_path):
    content = convert(function, (2, 3, 5))
    given = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    made = replace_with_products(content)
    np.testing.assert_allclose(answer(made, given), answer(content, given), rtol=1e-5, atol=1e-6)
    kinds = kinds_of(made, tmp_path)
    assert kinds.get("BATCH_MATMUL", 0) == products
    assert "SQUARE" not in kinds
    assert "SQUARED_DIFFERENCE" not in kinds
