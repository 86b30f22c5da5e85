"""Negatives and squares as products."""

import numpy as np
import tensorflow as tf

from keras_bert.export.products import make_products
from keras_bert.export.rules.lite_graphs import count_operations


def convert(function):
    serve = tf.function(function, input_signature=[tf.TensorSpec((2, 3), tf.float32)], autograph=False)
    return tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()]).convert()


def answer(content, given):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def test_products_give_the_same_numbers(tmp_path):
    content = convert(lambda x: tf.exp(-x) + tf.square(x) + tf.square(-x + 1.0))
    given = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    made = make_products(content)
    np.testing.assert_array_equal(answer(made, given), answer(content, given))
    (tmp_path / "model.tflite").write_bytes(made)
    kinds = {name.split()[0] for name in count_operations(tmp_path / "model.tflite")}
    assert "MUL" in kinds
    assert not kinds & {"NEG", "SQUARE"}


def test_a_file_without_them_stays_as_it_is():
    content = convert(lambda x: x + 1.0)
    assert make_products(content) == content
