"""Switches a model's blocks to fused kernels for a training, and compiles optimizer steps."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert.fused.block import FusedBlock
from keras_bert.layers.encoder_block import EncoderBlock


@contextlib.contextmanager
def fused_blocks(model: keras.Model) -> Iterator[None]:
    """Within it, the model's encoder blocks, if it has any, compute what they do in training with `FusedBlock`.

    Blocks whose taps or kernels have transforms compute as ever. Functions must be traced within, and keep what they
    were traced with. Nothing else changes: weights, seeds, what is saved, and what is computed outside of training.
    """
    # Of other attentions than BERT's `FusedBlock` knows nothing.
    blocks = [layer for layer in model._flatten_layers() if type(layer) is EncoderBlock]
    before = [block.training_call for block in blocks]
    try:
        for block in blocks:
            block.training_call = FusedBlock(block)
        yield
    finally:
        for block, old in zip(blocks, before, strict=True):
            block.training_call = old


def compiled_update(
    optimizer: keras.optimizers.Optimizer, weights: Sequence[Any]
) -> Callable[[Sequence[Any], Any], None]:
    """One XLA program for an optimizer's step, which otherwise passes over all weights a dozen times.

    On one device only: several have to speak to each other within the step.

    Args:
        optimizer: it must be built.
        weights: those that move.

    Returns:
        A function of their gradients and a factor, a scalar, that the gradients are multiplied with.
    """

    def update(gradients: Sequence[Any], factor: Any) -> None:
        optimizer.apply([gradient * factor for gradient in gradients], weights)

    return tf.function(update, jit_compile=True, autograph=False)
