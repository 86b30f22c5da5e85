"""A task whose model knows fewer pieces, and how often texts need each."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.layers.global_tokens import GlobalTokens
from keras_bert.objectives.base import Batch
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.fitting import reduced

# Layer -> the weight of it that has a row a piece.
_ROWS = {"token_embedding": "embeddings", "masked_token_bias": "bias", "masked_token_columns": "embeddings"}


def with_pieces(task: Task, kept: Sequence[int]) -> Task:
    """The same task with some of the pieces; the rows of all others are left out of its model.

    Texts whose pieces are all kept get the same answers.

    Args:
        task: its model is left as it is.
        kept: the ids of the pieces, rising, see `choose_pieces`.

    Raises:
        ValueError: a special token is left out, or the task has an adapter.
    """
    if task.adapter is not None:
        raise ValueError(f"{type(task).__name__}.adapter must be merged or dropped first, got {task.adapter!r}")
    tokenizer = reduced(task.tokenizer, kept)
    model = _with_rows(task.model, kept, tokenizer)
    return type(task).from_settings(model, tokenizer, task.settings())


def _with_rows(model: keras.Model, kept: Sequence[int], tokenizer: BaseTokenizer) -> keras.Model:
    def rebuild(layer: keras.layers.Layer) -> keras.layers.Layer:
        config = layer.get_config()
        if "vocabulary_size" in config:
            config["vocabulary_size"] = len(kept)
        if isinstance(config.get("config"), dict):
            config["config"] = {**config["config"], "vocabulary_size": len(kept)}
        if isinstance(layer, GlobalTokens) and layer.separator is not None:
            config["separator"] = tokenizer.sep_id
        return type(layer).from_config(config)

    smaller = keras.models.clone_model(model, clone_function=rebuild)
    for layer in smaller.layers:
        weights = {weight.path: weight for weight in model.get_layer(layer.name).weights}
        for weight in layer.weights:
            weight.assign(_rows_of(layer.name, weight, np.asarray(weights[weight.path]), kept))
    return smaller


def _rows_of(layer: str, weight: Any, values: Any, kept: Sequence[int]) -> Any:
    return values[np.asarray(kept)] if _ROWS.get(layer) == weight.name else values


def count_pieces(batches: Iterable[Batch], vocabulary_size: int) -> Any:
    """How often each piece stands in rows (vocabulary,), padding left out."""
    counts = np.zeros(vocabulary_size, np.int64)
    for batch in batches:
        for name in ("", "second_"):
            if f"{name}token_ids" in batch:
                present = np.asarray(batch[f"{name}padding_mask"], bool)
                counts += np.bincount(np.asarray(batch[f"{name}token_ids"])[present], minlength=vocabulary_size)
    return counts
