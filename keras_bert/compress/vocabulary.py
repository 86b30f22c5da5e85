"""Reduction of a task's vocabulary, and the counts of token ids by which entries are chosen."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.core.checks import check
from keras_bert.layers.separator import SeparatorReader
from keras_bert.models.encoder import config_of
from keras_bert.objectives.base import Batch
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.fitting import reduce_tokenizer


def reduce_vocabulary(task: Task, kept: Sequence[int]) -> Task:
    """Returns the task with the vocabulary entries `kept`, rising, see `choose_vocabulary`, and their table rows.

    Texts whose tokens are all kept get the same answers. The given task stays as it is.
    """
    if task.adapter is not None:
        raise ValueError(f"{type(task).__name__}.adapter must be merged or dropped first, got {task.adapter!r}")
    tokenizer = reduce_tokenizer(task.tokenizer, kept)
    numbers, config = {old: new for new, old in enumerate(kept)}, config_of(task.model)
    variant = config.variant and config.variant.of_tokens(numbers)
    encoder = dataclasses.replace(config, vocabulary_size=len(kept), variant=variant).as_dict()

    def rebuild(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        if "vocabulary_size" in config:
            config["vocabulary_size"] = len(kept)
        if isinstance(config.get("config"), dict):
            config["config"] = encoder
        if isinstance(layer, SeparatorReader) and layer.separator is not None:
            rule = f"hold the separator that layer {layer.name!r} reads"
            check("reduce_vocabulary", "kept", layer.separator in numbers, rule, layer.separator)
            config["separator"] = numbers[layer.separator]
        return type(layer).from_config(config)

    with task.weights_for("another vocabulary"):
        smaller = keras.models.clone_model(task.model, clone_function=rebuild)
        for layer in smaller.layers:
            weights = {weight.path: weight for weight in task.model.get_layer(layer.name).weights}
            for weight in layer.weights:
                values = np.asarray(weights[weight.path])
                # Weights with a row for each vocabulary entry get another shape.
                weight.assign(values if values.shape == weight.shape else values[np.asarray(kept)])
    reduced = type(task).from_settings(smaller, tokenizer, task.settings())
    reduced.space, reduced.pairs, reduced.quantization = task.space, task.pairs, task.quantization
    # Tasks with parts pass theirs to all of these, which keep their own.
    if not task.has_parts:
        reduced.calibration = task.calibration
    return reduced


def count_token_ids(batches: Iterable[Batch], vocabulary_size: int) -> Any:
    """Counts each token id in batches, without padding: (vocabulary,) int64."""
    counts = np.zeros(vocabulary_size, np.int64)
    for batch in batches:
        for prefix in (name.removesuffix("token_ids") for name in batch if name.endswith("token_ids")):
            present = np.asarray(batch[f"{prefix}padding_mask"], bool)
            counts += np.bincount(np.asarray(batch[f"{prefix}token_ids"])[present], minlength=vocabulary_size)
    return counts
