"""Frequencies of tokens in examples."""

from typing import TYPE_CHECKING

import numpy as np

from components.artifacts.standard import TaskExamples

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

# Rows of a batch.
_ROWS = 256


def count_tokens(
    examples: TaskExamples, split: str, tokenizer: "BaseTokenizer"
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The count of each vocabulary entry in the rows of a split (vocabulary,); special tokens count 0."""
    from keras_bert.compress.vocabulary import count_token_ids
    from keras_bert.data.task_batches import task_batches

    counts = count_token_ids(task_batches(examples.path, split, _ROWS).epoch(), tokenizer.vocabulary_size)
    counts[list(tokenizer.special_ids)] = 0
    return counts
