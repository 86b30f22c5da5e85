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
    """A context in which the encoder blocks of a model, if it has any, compute with `FusedBlock` in training.

    Blocks with transforms at their taps or kernels compute as before. Functions must be traced inside, and keep the
    blocks of that time. Weights, seeds, saved models and inference do not change.
    """
    # `FusedBlock` computes BERT's attention only.
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
    """One XLA program for a step of a built optimizer, which otherwise passes over all weights a dozen times.

    It is a function of the gradients and of a scalar that multiplies them. For one device only: several devices
    communicate within the step.
    """

    def update(gradients: Sequence[Any], factor: Any) -> None:
        optimizer.apply([gradient * factor for gradient in gradients], weights)

    return tf.function(update, jit_compile=True, autograph=False)
