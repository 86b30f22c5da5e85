"""Elementwise work between two matrix products as one XLA program, forwards and backwards.

TensorFlow runs each of its operations over the whole tensor, and memory is what they wait for; XLA makes one loop of
many. The matrix products stay outside, with oneDNN, whose products XLA's do not reach on a CPU.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_bert.layers.noise import draw_numbers, mix
from keras_bert.tensors import Tensor


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """An XLA program for a function of tensors, and one for its gradient, which works everything out again.

    For the gradient the arguments alone are kept: to read an intermediate result again costs more than to make it.

    Args:
        function: from floating-point tensors and, last, an integer seed (2,) that has no gradient, to one tensor.
            Shapes may be unknown until it runs; a program is compiled once for each shape, whoever calls it.
    """
    forward = tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)

    def gradient(upstream: Tensor, *arguments: Any) -> list[Tensor]:
        *inputs, seed = arguments
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = function(*inputs, seed)
        return tape.gradient(output, inputs, upstream)

    backward = tf.function(gradient, jit_compile=True, autograph=False, reduce_retracing=True)

    @tf.custom_gradient
    def call(*arguments: Any) -> Any:
        return forward(*arguments), lambda upstream: [*backward(upstream, *arguments), None]

    return call


def seeded_dropout(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    """X / (1 - rate) where a number drawn from the seed is at least the rate, else 0 (Srivastava et al. 2014).

    The number is a hash of the element's place, so that the gradient draws it again instead of reading a mask: exact to
    2^-32, and a matter of a dozen integer operations where TensorFlow's generators take some forty.

    Args:
        x: float32 of any shape.
        seed: uint32 (2,).
        rate: the share that becomes 0.
    """
    if not rate:
        return x
    places = tf.reshape(tf.cast(tf.range(tf.size(x)), tf.uint32), tf.shape(x))
    first = mix(seed[0])
    drawn = draw_numbers(places, first, mix(tf.bitwise.bitwise_xor(first, seed[1])))
    return tf.where(drawn >= tf.constant(round(rate * 2**32), tf.uint32), x / (1.0 - rate), 0.0)
