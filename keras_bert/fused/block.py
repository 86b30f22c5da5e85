"""A fused encoder block: six matrix products, with XLA programs between them."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert.core.tensors import Tensor
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.feed_forward import ACTIVATIONS
from keras_bert.layers.noise import seeded_bits


def compiled(function: Callable[..., Any], constants: int = 1) -> Callable[..., Any]:
    """Compiles a function of tensors, and its gradient, with XLA; the gradient computes the function again.

    TensorFlow runs each operation over the whole tensor, which is limited by memory bandwidth; XLA fuses them into one
    loop. The matrix products stay outside: oneDNN's are faster than XLA's on a CPU.

    Only the arguments are kept for the gradient: reading an intermediate result costs more than computing it again.
    They are floating-point tensors and, last, an integer seed (2,); the last `constants`, with the seed, have no
    gradient. Shapes may be unknown until it runs; a program is compiled once for each shape.
    """
    forward = tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)

    def gradient(upstream: Sequence[Tensor], *arguments: Any) -> list[Tensor]:
        inputs = arguments[:-constants]
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = function(*arguments)
        return tape.gradient(output, inputs, upstream)

    backward = tf.function(gradient, jit_compile=True, autograph=False, reduce_retracing=True)

    @tf.custom_gradient
    def call(*arguments: Any) -> Any:
        def differentiate(*upstream: Tensor) -> list[Any]:
            # Copies, as a compiled call in the gradient of a `tf.cond` cannot read what a branch computed.
            return [*backward(upstream, *map(tf.identity, arguments)), *[None] * constants]

        return forward(*arguments), differentiate

    return call


def seeded_dropout(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    """Dropout: x / (1 - rate) where a random number is at least the rate, else 0 (Srivastava et al. 2014).

    The number is a hash of the seed, uint32 (2,), and the element's place, exact to 2^-32: the gradient draws it again
    instead of reading a mask. It takes a dozen integer operations, where TensorFlow's generators take some forty.
    """
    if not rate:
        return x
    places = tf.reshape(tf.cast(tf.range(tf.size(x)), tf.uint32), tf.shape(x))
    return tf.where(seeded_bits(places, seed) >= tf.constant(round(rate * 2**32), tf.uint32), x / (1.0 - rate), 0.0)


class FusedBlock:
    """`EncoderBlock.call` in training, with fewer passes over memory.

    It reads the weights and the seed generators of the block. Operations between two matrix products are computed in
    float32, whatever the precision of the products.
    """

    def __init__(self, block: EncoderBlock) -> None:
        self._block, self._attention = block, block.attention
        self._activate = biased_activation(block.config.activation)

    def __call__(self, inputs: Tensor, attention_bias: Tensor) -> Tensor:
        """(batch, length, hidden), bias (batch, 1, 1, length) -> (batch, length, hidden)."""
        block, attention = self._block, self._attention
        dtype = block.compute_dtype
        shape = tf.shape(inputs)
        rows = tf.reshape(inputs, (-1, inputs.shape[-1]))
        context = self._context(rows, attention_bias, shape)
        projected = unbiased_product(context, attention.output_projection, dtype)
        bias = float32_weight(attention.output_projection.bias)
        return tf.reshape(self._add_and_feed_forward(rows, projected, bias), shape)

    def finish(self, inputs: Tensor, attended: Tensor) -> Tensor:
        """Computes the block after its attention, as `EncoderBlock._add_and_feed_forward`."""
        rows, projected = (tf.reshape(x, (-1, inputs.shape[-1])) for x in (inputs, attended))
        return tf.reshape(self._add_and_feed_forward(rows, projected, tf.zeros(inputs.shape[-1:])), tf.shape(inputs))

    def _add_and_feed_forward(self, rows: Tensor, projected: Tensor, bias: Tensor) -> Tensor:
        """Inputs and attention outputs without their bias, rows (batch x length, hidden) -> rows."""
        block, dtype = self._block, self._block.compute_dtype
        x = self._norm(rows, projected, bias, block.attention_norm, block.attention_dropout)
        hidden, outer = block.feed_forward.intermediate, block.feed_forward.output_projection
        activated = self._activate(unbiased_product(x, hidden, dtype), float32_weight(hidden.bias), no_seed())
        bias, projected = float32_weight(outer.bias), unbiased_product(activated, outer, dtype)
        return self._norm(x, projected, bias, block.feed_forward_norm, block.feed_forward_dropout)

    def _context(self, rows: Tensor, bias: Tensor, shape: Any) -> Tensor:
        """Rows (batch x length, hidden), bias (batch, 1, 1, length) -> context (batch x length, attention)."""
        attention = self._attention
        parts = attention.query, attention.key, attention.value
        added = tf.concat([float32_weight(part.bias) for part in parts], axis=0)
        projected = biased(_products(rows, parts), added, no_seed())
        split = tf.reshape(projected, (shape[0], shape[1], 3, attention.num_heads, attention.head_size))
        query, key, value = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))
        scores = tf.matmul(query, key, transpose_b=True)
        shares = attention_shares(scores, bias, attention.dropout, 1 / math.sqrt(attention.head_size))
        context = tf.matmul(shares, value)
        return tf.reshape(tf.transpose(context, (0, 2, 1, 3)), (-1, attention.num_heads * attention.head_size))

    def _norm(self, x: Tensor, projected: Tensor, bias: Tensor, norm: Any, dropout: Any) -> Tensor:
        weights = bias, float32_weight(norm.gamma), float32_weight(norm.beta)
        return _residual_norm(dropout.rate, norm.epsilon)(x, projected, *weights, draw_seed(dropout))


def no_seed() -> Any:
    """The seed of a program that draws no numbers."""
    return tf.constant((0, 0), tf.uint32)


def float32_weight(variable: keras.Variable) -> Any:
    """Returns the float32 weight; Keras would return a copy in the layer's precision."""
    return tf.convert_to_tensor(variable._value)


def unbiased_product(rows: Tensor, dense: Any, dtype: str) -> Tensor:
    """Multiplies rows by a layer's kernel; adds the output of the layer's adapter, but no bias."""
    product = tf.matmul(rows, tf.cast(float32_weight(dense.kernel), dtype))
    return product if dense.adapter is None else dense.adapter(rows, product, training=True)


def _products(rows: Tensor, parts: Sequence[Any]) -> Tensor:
    """Concatenates the products of several layers; computes them as one product if no layer has an adapter."""
    if any(part.adapter is not None for part in parts):
        return tf.concat([unbiased_product(rows, part, rows.dtype) for part in parts], axis=1)
    kernel = tf.cast(tf.concat([float32_weight(part.kernel) for part in parts], axis=1), rows.dtype)
    return tf.matmul(rows, kernel)


def draw_seed(dropout: keras.layers.Dropout) -> Any:
    """Draws the next seed of a dropout layer, uint32 (2,)."""
    return tf.cast(dropout.seed_generator.next(), tf.uint32) if dropout.rate else no_seed()


def _add_bias(x: Tensor, bias: Tensor, seed: Tensor) -> Tensor:
    """Adds in float32. The bias's gradient is a sum over all rows: in bfloat16 it soon stops growing."""
    return tf.cast(tf.cast(x, tf.float32) + bias, x.dtype)


biased = compiled(_add_bias)


@functools.cache
def _residual_norm(rate: float, epsilon: float) -> Callable[..., Any]:
    """LayerNorm(x + dropout(projected + bias)) of rows (Ba et al. 2016, equation 4)."""

    def residual_norm(x: Tensor, projected: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor, seed: Tensor) -> Tensor:
        total = tf.cast(x, tf.float32) + seeded_dropout(tf.cast(projected, tf.float32) + bias, seed, rate)
        centred = total - tf.reduce_mean(total, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        return tf.cast(centred * tf.math.rsqrt(variance + epsilon) * gamma + beta, x.dtype)

    return compiled(residual_norm)


def attention_shares(
    scores: Tensor, bias: Tensor, dropout: keras.layers.Dropout, scale: float = 1.0, constant: bool = False
) -> Tensor:
    """Dropout(softmax(scale scores + bias)) over the last axis; a constant bias has no gradient."""
    # The bias of padding, (batch, 1, 1, length). Others may be learnt, and their gradient is a pass over the scores.
    is_constant = constant or bias.shape[2] == 1
    return _probabilities(dropout.rate, scale, is_constant)(scores, tf.cast(bias, tf.float32), draw_seed(dropout))


@functools.cache
def _probabilities(rate: float, scale: float, is_constant: bool) -> Callable[..., Any]:
    def probabilities(scores: Tensor, bias: Tensor, seed: Tensor) -> Tensor:
        shares = tf.nn.softmax(tf.cast(scores, tf.float32) * scale + bias)
        return tf.cast(seeded_dropout(shares, seed, rate), scores.dtype)

    return compiled(probabilities, 1 + is_constant)


@functools.cache
def biased_activation(name: str) -> Callable[..., Any]:
    """activation(x + bias)."""

    def biased_activation(x: Tensor, bias: Tensor, seed: Tensor) -> Tensor:
        return tf.cast(ACTIVATIONS[name](tf.cast(x, tf.float32) + bias), x.dtype)

    return compiled(biased_activation)


def compiled_update(
    optimizer: keras.optimizers.Optimizer, weights: Sequence[Any]
) -> Callable[[Sequence[Any], Any], None]:
    """One XLA program for a step of a built optimizer, which otherwise passes over all weights a dozen times.

    It is a function of the gradients and of a scalar that multiplies them. For one device only: several devices
    communicate within the step.
    """

    def update(gradients: Sequence[Any], factor: Any) -> None:
        optimizer.apply([gradient * factor for gradient in gradients], weights)

    return tf.function(update, jit_compile=True, autograph=False)
