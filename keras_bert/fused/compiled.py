"""Elementwise work between two matrix products as one XLA program, forwards and backwards.

TensorFlow runs each of its operations over the whole tensor, and memory is what they wait for; XLA makes one loop of
many. The matrix products stay outside, with oneDNN, whose products XLA's do not reach on a CPU.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """An XLA program for a function of tensors, and one for its gradient, which works everything out again.

    For the gradient the arguments alone are kept: to read an intermediate result again costs more than to make it.

    Args:
        function: from floating-point tensors and, last, an integer seed (2,) that has no gradient, to one tensor.
            Shapes may be unknown until it runs; a program is compiled once for each shape, whoever calls it.
    """
    forward = tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)

    def gradient(upstream: Any, *arguments: Any) -> list[Any]:
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


def keep(x: Any, seed: Any, rate: float) -> Any:
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
    first = _mix(seed[0])
    second = _mix(tf.bitwise.bitwise_xor(first, seed[1]))
    # A permutation of its own for each seed, not one sequence begun at different places.
    drawn = _mix((places + first) * tf.bitwise.bitwise_or(second, tf.constant(1, tf.uint32)))
    return tf.where(drawn >= tf.constant(round(rate * 2**32), tf.uint32), x / (1.0 - rate), 0.0)


def _mix(x: Any) -> Any:
    """A permutation of the 32-bit numbers whose every output bit depends on every input bit.

    `lowbias32` of https://github.com/skeeto/hash-prospector, with the constants found there later: bias 0.107.
    """
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(shift, tf.uint32)))
        x = x * tf.constant(factor, tf.uint32)
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(15, tf.uint32)))
