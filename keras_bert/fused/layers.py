"""Layers of the families' blocks in training: the operations between two matrix products are one XLA program."""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.families.deberta.layers import DeBERTaAttention, sum_scores
from keras_bert.families.mobilebert.layers import NoNorm
from keras_bert.families.modernbert.layers import GatedFeedForward, RotaryAttention
from keras_bert.fused.block import (
    FusedBlock,
    attention_shares,
    biased,
    biased_activation,
    compiled,
    draw_seed,
    float32_weight,
    no_seed,
    seeded_dropout,
    unbiased_product,
)
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.encoder_block import EncoderBlock, has_transforms
from keras_bert.layers.feed_forward import ACTIVATIONS, FeedForward
from keras_bert.layers.rotary import rotary_table, rotate
from keras_bert.layers.tap import taps_of


def _norm(layer: keras.layers.LayerNormalization) -> Callable[..., Any]:
    weights = [weight for weight in (layer.gamma, layer.beta) if weight is not None]
    if layer.axis != [-1] or layer.rms_scaling or layer.gamma is None:
        return layer.call  # no layer of a family

    def call(inputs: Tensor) -> Tensor:
        normalized = _normalization(layer.epsilon)(inputs, *map(float32_weight, weights), no_seed())
        return tf.cast(normalized, layer.compute_dtype)

    return call


@functools.cache
def _normalization(epsilon: float) -> Callable[..., Any]:
    """LayerNorm over the last axis (Ba et al. 2016, equation 4), without beta where none is given."""

    def normalization(x: Tensor, *weights: Tensor) -> Tensor:
        gamma, *beta, _ = weights
        exact = tf.cast(x, tf.float32)
        centred = exact - tf.reduce_mean(exact, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        return tf.cast(sum(beta, centred * tf.math.rsqrt(variance + epsilon) * gamma), x.dtype)

    return compiled(normalization)


@compiled
def _moved(x: Tensor, gamma: Tensor, beta: Tensor, seed: Tensor) -> Tensor:
    return tf.cast(tf.cast(x, tf.float32) * gamma + beta, x.dtype)


def _no_norm(layer: NoNorm) -> Callable[..., Any]:
    return lambda inputs: _moved(inputs, float32_weight(layer.gamma), float32_weight(layer.beta), no_seed())


@functools.cache
def _dropped(rate: float) -> Callable[..., Any]:
    return compiled(lambda x, seed: tf.cast(seeded_dropout(tf.cast(x, tf.float32), seed, rate), x.dtype))


def _dropout(layer: Dropout) -> Callable[..., Any]:
    def call(inputs: Tensor, training: bool = False) -> Tensor:
        return _dropped(layer.rate)(inputs, draw_seed(layer)) if training and layer.rate else inputs

    return layer.call if layer.noise_shape else call


def _bias(layer: Dense) -> Callable[..., Any]:
    return lambda x: biased(x, float32_weight(layer.bias), no_seed()) if layer.use_bias else x


def _feed_forward(layer: FeedForward) -> Callable[..., Any]:
    def call(inputs: Tensor, training: bool = False) -> Tensor:
        if not training or has_transforms(layer):
            return type(layer).call(layer, inputs, training)
        rows = tf.reshape(inputs, (-1, inputs.shape[-1]))
        product = unbiased_product(rows, layer.intermediate, layer.compute_dtype)
        activated = biased_activation(layer.activation)(product, float32_weight(layer.intermediate.bias), no_seed())
        return tf.reshape(layer.output_projection(activated), tf.shape(inputs))

    return call


@functools.cache
def _gated(name: str, rate: float) -> Callable[..., Any]:
    """Dropout(activation(first half of x) * second half)."""

    def gated(x: Tensor, seed: Tensor) -> Tensor:
        first, gate = tf.split(tf.cast(x, tf.float32), 2, axis=-1)
        return tf.cast(seeded_dropout(ACTIVATIONS[name](first) * gate, seed, rate), x.dtype)

    return compiled(gated)


def _gated_feed_forward(layer: GatedFeedForward) -> Callable[..., Any]:
    def call(inputs: Tensor, training: bool = False) -> Tensor:
        if not training or has_transforms(layer):
            return type(layer).call(layer, inputs, training)
        program = _gated(layer.activation, layer.dropout.rate)
        return layer.output_projection(program(layer.intermediate(inputs), draw_seed(layer.dropout)))

    return call


def _attend(layer: SelfAttention) -> Callable[..., Any]:
    def attend(query: Tensor, key: Tensor, value: Tensor, attention_bias: Tensor, training: bool) -> Tensor:
        if not training or _is_tapped(layer):
            return type(layer)._attend(layer, query, key, value, attention_bias, training)
        scores, constant = tf.matmul(query, key, transpose_b=True), isinstance(layer, RotaryAttention)
        return tf.matmul(attention_shares(scores, attention_bias, layer.dropout, constant=constant), value)

    return attend


def _is_tapped(layer: keras.layers.Layer) -> bool:
    return any(tap.transform is not None for tap in taps_of(layer).values())


def _attention_probabilities(layer: SelfAttention) -> Callable[..., Any]:
    def call(scores: Tensor, training: bool) -> Tensor:
        if not training or _is_tapped(layer):
            return type(layer)._attention_probabilities(layer, scores, training)
        return attention_shares(scores, tf.zeros((1, 1, 1, 1)), layer.dropout)

    return call


@functools.cache
def _relative(rate: float, kinds: tuple[bool, bool]) -> Callable[..., Any]:
    """Dropout(softmax(sum of a DeBERTa's scores)); `kinds` tells which scores of positions are given."""

    def relative(content: Tensor, *scores: Tensor) -> Tensor:
        *rest, bias, seed = scores
        given = iter(tf.cast(one, tf.float32) for one in rest)
        total = sum_scores(bias, tf.cast(content, tf.float32), *(next(given) if kind else None for kind in kinds))
        return tf.cast(seeded_dropout(tf.nn.softmax(total), seed, rate), content.dtype)

    return compiled(relative, constants=2)


def _relative_probabilities(layer: DeBERTaAttention) -> Callable[..., Any]:
    def call(bias: Tensor, content: Tensor, by_query: Any, by_key: Any, training: bool) -> Tensor:
        if not training or _is_tapped(layer):
            return type(layer)._relative_probabilities(layer, bias, content, by_query, by_key, training)
        given = [scores for scores in (by_query, by_key) if scores is not None]
        program = _relative(layer.dropout.rate, (by_query is not None, by_key is not None))
        return program(content, *given, tf.cast(bias, tf.float32), draw_seed(layer.dropout))

    return call


@functools.cache
def _rotated(heads: int, size: int, theta: float) -> Callable[..., Any]:
    """Queries, keys and values (batch, length, 3 x hidden) -> each (batch, heads, length, size), rotated and scaled."""

    def rotated(x: Tensor, seed: Tensor) -> tuple[Tensor, ...]:
        shape = tf.shape(x)
        table = rotary_table(shape[1], size, theta)
        split = tf.reshape(x, (shape[0], shape[1], 3, heads, size))
        query, key, value = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))
        scaled = table[0] / math.sqrt(size), table[1] / math.sqrt(size)
        return rotate(query, scaled), rotate(key, table), value

    return compiled(rotated)


def _rotary_attention(layer: RotaryAttention) -> Callable[..., Any]:
    def call(inputs: Tensor, attention_bias: Tensor, first_only: bool = False, training: bool = False) -> Tensor:
        if first_only or not training or has_transforms(layer):
            return type(layer).call(layer, inputs, attention_bias, first_only, training)
        program = _rotated(layer.num_heads, layer.head_size, layer.theta)
        query, key, value = program(layer.query_key_value(inputs), no_seed())
        context = layer._attend(query, key, value, attention_bias, training)
        return layer.output_dropout(layer._join_heads(context, ops.shape(inputs), training), training=training)

    return call


# Classes of layers, the name of a method that they define, and what makes the function in its place for a layer.
_PROGRAMS: tuple[tuple[type, str, Callable[[Any], Callable[..., Any]]], ...] = (
    (keras.layers.LayerNormalization, "call", _norm),
    (Dropout, "call", _dropout),
    (NoNorm, "call", _no_norm),
    (Dense, "_add_bias", _bias),
    (SelfAttention, "_attend", _attend),
    (SelfAttention, "_attention_probabilities", _attention_probabilities),
    (DeBERTaAttention, "_relative_probabilities", _relative_probabilities),
    (RotaryAttention, "call", _rotary_attention),
    (FeedForward, "call", _feed_forward),
    (GatedFeedForward, "call", _gated_feed_forward),
)


def _in_training(
    layer: keras.layers.Layer, program: Callable[..., Any], plain: Callable[..., Any]
) -> Callable[..., Any]:
    """The program while a model is called for training, else the plain method; some methods are not told."""
    return lambda *inputs, **named: (program if layer._get_call_context().training else plain)(*inputs, **named)


def _replacements(layer: keras.layers.Layer) -> dict[str, Callable[..., Any]]:
    """The functions in the place of a layer's methods, by their names; methods of other classes stay as they are."""
    replaced = {
        name: _in_training(layer, make(layer), getattr(layer, name))
        for kind, name, make in _PROGRAMS
        if isinstance(layer, kind) and getattr(type(layer), name) is getattr(kind, name)
    }
    if type(layer) is EncoderBlock:
        replaced["training_call"] = FusedBlock(layer)
    elif isinstance(layer, EncoderBlock) and type(layer.feed_forward) is FeedForward:
        block = FusedBlock(layer)

        def call(inputs: Tensor, attended: Tensor, training: bool) -> Tensor:
            if not training or has_transforms(layer):
                return type(layer)._add_and_feed_forward(layer, inputs, attended, training)
            return block.finish(inputs, attended)

        replaced["_add_and_feed_forward"] = call
    return replaced


@contextlib.contextmanager
def fused_blocks(model: keras.Model) -> Iterator[None]:
    """A context in which the layers of a model's blocks compute with few XLA programs in training.

    Layers with transforms at their taps or kernels compute as before. Functions must be traced inside, and keep the
    programs of that time. Weights, seeds, saved models and inference do not change.
    """
    layers = list(model._flatten_layers())
    replaced = [(layer, name, function) for layer in layers for name, function in _replacements(layer).items()]
    before = [vars(layer).get(name) for layer, name, _ in replaced]
    try:
        for layer, name, function in replaced:
            vars(layer)[name] = function
        yield
    finally:
        for (layer, name, _), old in zip(replaced, before, strict=True):
            if old is None and name != "training_call":
                del vars(layer)[name]
            else:
                vars(layer)[name] = old
