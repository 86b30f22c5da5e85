"""Skips the final states of all tokens except the first, in models that do not use them."""

import functools
import inspect
from typing import Any

import keras

from keras_bert.core.tensors import Tensor
from keras_bert.layers.adapters import TokenStates
from keras_bert.layers.block import TransformerBlock
from keras_bert.layers.heads import FirstTokenPooler, Pooler
from keras_bert.layers.tap import TapLayer
from keras_bert.models.encoder import blocks_of, calls_of


def skip_unused_tokens(model: keras.Model) -> keras.Model:
    """Returns an inference model whose last block computes only the first token, if no head uses the other tokens.

    Of the other tokens the last block needs only keys and values; BERT's saves 10 of 12 parts of its matrix products.
    The result shares the layers and has the same outputs. Models that use all states, have a soft prompt, or have
    blocks without the argument `first_only`, such as Longformer's, are returned unchanged.
    """
    if not any(isinstance(layer, TransformerBlock) for layer in model.layers):
        return model  # a nested encoder is not changed
    block = blocks_of(model)[-1]
    calls = calls_of(model, block)
    can_skip = "first_only" in inspect.signature(block.call).parameters
    if not can_skip or not _reads_first_token_alone(model, calls[-1].output_tensors[0]):
        return model
    calls_left = len(calls)

    def shorten_last_call(layer: keras.layers.Layer) -> Any:
        nonlocal calls_left
        calls_left -= layer is block
        return functools.partial(block, first_only=True) if layer is block and not calls_left else layer

    outputs = model._run_through_graph(model.inputs, operation_fn=shorten_last_call)
    return keras.Model(model.input, outputs, name=model.name)


def _reads_first_token_alone(model: keras.Model, states: Tensor) -> bool:
    """True if all layers that use the states (batch, length, hidden) only use the state of the first token."""
    if any(states is output for output in model.outputs):
        return False
    nodes = (node for depth in model._nodes_by_depth.values() for node in depth)
    readers = [node for node in nodes if any(states is tensor for tensor in node.input_tensors)]
    return all(
        isinstance(node.operation, Pooler | FirstTokenPooler)
        or (_is_tokenwise(node.operation) and _reads_first_token_alone(model, node.output_tensors[0]))
        for node in readers
    )


def _is_tokenwise(layer: keras.layers.Layer) -> bool:
    """True if a layer computes the state of each token only from this state, as ModernBERT's final norm does."""
    if type(layer) is TokenStates:
        return not layer.tokens
    return isinstance(layer, TapLayer) or (isinstance(layer, keras.layers.LayerNormalization) and layer.axis == [-1])
