"""Models whose answer is read from the first token, without what their last layer makes of all others."""

import functools
from typing import Any

import keras

from keras_bert.layers.adapters import TokenStates
from keras_bert.layers.block import Block
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.heads import FirstTokenPooler, Pooler
from keras_bert.models.encoder import blocks_of, calls_of


def without_unread_tokens(model: keras.Model) -> keras.Model:
    """The model with a last block that computes the first token alone, where nobody reads its other states.

    All other tokens need their keys and values there, and nothing else: of the products of a last layer, 10 of 12 parts
    are left out. A model that reads them, as one that pools by the mean, one with a prompt, and one with another block
    than BERT's stay as they are. It shares the layers and answers alike, and is meant to be run, not trained.
    """
    if not any(isinstance(layer, Block) for layer in model.layers):
        return model  # an encoder that is a layer of the model is looked at by nobody
    block = blocks_of(model)[-1]
    calls = calls_of(model, block)
    if type(block) is not EncoderBlock or not _reads_first_token_alone(model, calls[-1].output_tensors[0]):
        return model
    left = len(calls)

    def shortened(layer: keras.layers.Layer) -> Any:
        nonlocal left
        left -= layer is block
        return functools.partial(block, first_only=True) if layer is block and not left else layer

    return keras.Model(model.input, model._run_through_graph(model.inputs, operation_fn=shortened), name=model.name)


def _reads_first_token_alone(model: keras.Model, states: Any) -> bool:
    """Whether all that is made of final states (batch, length, hidden) is made of the first token's."""
    if any(states is output for output in model.outputs):
        return False
    nodes = (node for depth in model._nodes_by_depth.values() for node in depth)
    readers = [node for node in nodes if any(states is tensor for tensor in node.input_tensors)]
    return all(
        isinstance(node.operation, Pooler | FirstTokenPooler)
        or (
            type(node.operation) is TokenStates
            and not node.operation.tokens
            and _reads_first_token_alone(model, node.output_tensors[0])
        )
        for node in readers
    )
