"""Operations of a graph against a count by hand and against TensorFlow's own profiler."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining
from plugins.compare.flops import PASSES_A_STEP, count_flops
from tests.keras_bert.tiny import tiny_config


def spec(*shape, dtype="float32"):
    return tf.TensorSpec(shape, dtype)


KERNEL, FILTER = np.zeros((5, 4), "float32"), np.zeros((3, 4, 6), "float32")


@pytest.mark.parametrize(
    ("function", "shapes", "pairs"),
    [
        (lambda x: tf.matmul(x, KERNEL), [(3, 5)], 3 * 5 * 4),
        (lambda x: tf.matmul(x, KERNEL, transpose_a=True, transpose_b=False), [(5, 7)], 7 * 5 * 4),
        (lambda x, y: tf.matmul(x, y, transpose_b=True), [(2, 3, 7, 5), (2, 3, 9, 5)], 2 * 3 * 7 * 5 * 9),
        (lambda x, y: tf.matmul(x, y, adjoint_a=True), [(2, 5, 7), (5, 4)], 2 * 7 * 5 * 4),
        (lambda x, y: tf.einsum("bqhd,bkhd->bhqk", x, y), [(2, 7, 3, 5), (2, 9, 3, 5)], 2 * 3 * 7 * 9 * 5),
        (lambda x, y: tf.einsum("...ij,jk->...ik", x, y), [(2, 3, 7, 5), (5, 4)], 2 * 3 * 7 * 5 * 4),
        (lambda x: tf.einsum("ij->ji", x), [(3, 5)], 0),
        (lambda x: tf.nn.conv1d(x, FILTER, 1, "SAME"), [(2, 7, 4)], 2 * 7 * 6 * 3 * 4),
        (lambda x: tf.nn.conv1d(x, FILTER[:, :2], 1, "SAME"), [(2, 7, 4)], 2 * 7 * 6 * 3 * 2),
        (lambda x: tf.nn.depthwise_conv2d(x, FILTER[..., None], [1] * 4, "SAME"), [(2, 7, 8, 6)], 2 * 56 * 6 * 3 * 4),
        (lambda x: tf.nn.gelu(x) + tf.reduce_sum(x), [(3, 5)], 0),
    ],
)
def test_two_operations_for_each_pair_of_numbers(function, shapes, pairs):
    assert count_flops(function, *(spec(*shape) for shape in shapes)) == 2 * pairs


def test_a_model_against_a_count_by_hand_and_the_profiler():
    batch, length, predictions, hidden, inner, layers, pieces = 3, 8, 2, 16, 24, 2, 31
    config = tiny_config(
        num_layers=layers, hidden_size=hidden, intermediate_size=inner, vocabulary_size=pieces, max_length=length
    )
    model = build_pretraining(build_encoder(config))
    widths = {one_spec.name: predictions if one_spec.name == "mask_positions" else length for one_spec in model.inputs}
    inputs = {name: spec(batch, width, dtype="int32") for name, width in widths.items()}
    block = length * (4 * hidden**2 + 2 * hidden * inner) + 2 * length**2 * hidden
    heads = predictions * (hidden**2 + hidden * pieces) + hidden**2 + 2 * hidden
    flops = count_flops(lambda given: model(given, training=True), inputs)
    assert flops == 2 * batch * (layers * block + heads)
    graph = tf.function(lambda given: model(given)).get_concrete_function(inputs).graph
    options = tf.compat.v1.profiler.ProfileOptionBuilder(tf.compat.v1.profiler.ProfileOptionBuilder.float_operation())
    options = options.with_accounted_types(["MatMul", "BatchMatMulV2"]).with_empty_output().build()
    assert tf.compat.v1.profiler.profile(graph, options=options).total_float_ops == flops


def test_unused_products_are_not_counted_and_a_gradient_is_two():
    def forward(x):
        tf.matmul(x, tf.transpose(x))
        return tf.matmul(x, KERNEL)

    assert count_flops(forward, spec(3, 5)) == 2 * 3 * 5 * 4
    weight = tf.Variable(KERNEL)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.matmul(x, weight) ** 2)
        return tape.gradient(loss, [x, weight])

    assert count_flops(step, spec(3, 5)) == PASSES_A_STEP * count_flops(lambda x: tf.matmul(x, weight), spec(3, 5))


def test_what_cannot_be_counted_is_refused():
    def loop(x):
        return tf.while_loop(lambda number, _: number < 3, lambda number, y: (number + 1, tf.matmul(y, y)), [0, x])

    with pytest.raises(
        ValueError, match=r"^count_flops must see all products, got a function in StatelessWhile 'while'$"
    ):
        count_flops(loop, spec(3, 3))
    with pytest.raises(
        ValueError, match=r"^count_flops must see all products, got a function in PartitionedCall '.*'$"
    ):
        count_flops(lambda x: tf.function(lambda y: tf.matmul(y, y))(x), spec(3, 3))
    with pytest.raises(ValueError, match=r"^count_flops must know all sizes, got MatMul 'MatMul' of "):
        count_flops(lambda x: tf.matmul(x, KERNEL), spec(None, 5))
