"""Compiles the elementwise operations between two matrix products into one XLA program, and one for the gradient.

TensorFlow runs each operation over the whole tensor, which is limited by memory bandwidth; XLA fuses them into one
loop. The matrix products stay outside: oneDNN's are faster than XLA's on a CPU.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_bert.core.tensors import Tensor
from keras_bert.layers.noise import mix, random_bits


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function of tensors, and its gradient, with XLA; the gradient computes the function again.

    The arguments alone are kept for the gradient: reading an intermediate result costs more than computing it again.

    Args:
        function: a function of floating-point tensors and, last, an integer seed (2,) without a gradient, to a tensor.
            Shapes may be unknown until it runs; a program is compiled once for each shape.
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
    """Dropout: x / (1 - rate) where a random number is at least the rate, else 0 (Srivastava et al. 2014).

    The number is a hash of the seed, uint32 (2,), and the element's place, exact to 2^-32: the gradient draws it again
    instead of reading a mask. It takes a dozen integer operations, where TensorFlow's generators take some forty.
    """
    if not rate:
        return x
    places = tf.reshape(tf.cast(tf.range(tf.size(x)), tf.uint32), tf.shape(x))
    first = mix(seed[0])
    drawn = random_bits(places, first, mix(tf.bitwise.bitwise_xor(first, seed[1])))
    return tf.where(drawn >= tf.constant(round(rate * 2**32), tf.uint32), x / (1.0 - rate), 0.0)
