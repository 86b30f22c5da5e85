"""A checkpoint folder -> Model and Vocabulary."""

import logging

from components.artifacts.standard import Model, Vocabulary
from components.dsl.component import Output, component
from components.dsl.errors import InputError
from components.sources.checkpoint import Checkpoint, errors_of_checkpoint

logger = logging.getLogger(__name__)

# Float32 rounds states by far less, and int8 by more.
_LEAST_EFFECT = 1e-3


@component(libraries=("keras", "numpy", "safetensors", "tensorflow", "tensorflow-text"))
def import_checkpoint(
    source: Checkpoint, model: Output[Model], vocabulary: Output[Vocabulary], max_length: int = 8
) -> None:
    """Reads a checkpoint and writes it in the format of this library.

    `max_length` is the most tokens of a row in later steps.

    Raises:
        InputError: the folder holds no checkpoint, one that this library cannot read, or one with fewer positions than
            `max_length`.
    """
    from keras_bert.interop.hugging_face import from_hugging_face
    from keras_bert.models.encoder import padding_effect
    from keras_bert.tasks.registry import load

    source.check()
    folder = source.folder()
    with errors_of_checkpoint(folder):
        task = load(folder) if source.is_own else from_hugging_face(folder)
    if task.positions < max_length:
        raise InputError(f"max_length must be at most {task.positions}, the checkpoint's positions, got {max_length}")
    effect = padding_effect(task.encoder)
    if not effect < _LEAST_EFFECT:
        line = (
            "%s: its attention scores are so large that padding changes states by %.2g of the largest; answers depend"
        )
        logger.warning(line + " on how far a row is padded", folder, effect)
    task.save(model.path)
    task.tokenizer.save(vocabulary.path)
    model.counts = {"parameters": task.model.count_params()}
    vocabulary.counts = {"entries": task.tokenizer.vocabulary_size}
