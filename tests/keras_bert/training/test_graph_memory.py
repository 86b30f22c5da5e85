import gc

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from keras_bert.training.step import temporary_custom_gradients
from tests.keras_bert.training.small import fit


@tf.custom_gradient
def doubled(value):
    return 2.0 * value, lambda gradient: 3.0 * gradient


@tf.function(reduce_retracing=True)
def slope(value):
    with tf.GradientTape() as tape:
        tape.watch(value)
        result = doubled(value)
    return tape.gradient(result, value)


def custom_gradients():
    return {name for name in ops.gradient_registry._registry if name.startswith("CustomGradient-")}


def graphs():
    gc.collect()
    return sum(isinstance(one, FuncGraph) for one in gc.get_objects())


def test_only_what_was_traced_within_is_forgotten_and_still_runs():
    slope(tf.constant([1.0]))
    before = custom_gradients()
    with temporary_custom_gradients():
        slope(tf.constant([1.0, 2.0]))
        assert custom_gradients() > before
    assert custom_gradients() == before
    for size in (1, 2, 3):
        assert slope(tf.ones((size, size))).numpy().tolist() == [[3.0] * size] * size


def test_a_training_leaves_no_graph_behind():
    before = graphs()
    fit(1)
    assert graphs() == before
