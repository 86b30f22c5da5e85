"""How often pieces stand in examples."""

from typing import TYPE_CHECKING

from components.artifacts.task_examples import TaskExamples

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.tokenizers.base import BaseTokenizer

# Rows that are counted at once.
_ROWS = 256


def count_examples(
    examples: TaskExamples, split: str, tokenizer: "BaseTokenizer"
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """How often each piece stands in the rows of a split (vocabulary,); special tokens do not count."""
    from keras_bert.compress.vocabulary import count_pieces
    from keras_bert.data.task_batches import task_batches

    counts = count_pieces(task_batches(examples.path, split, _ROWS).epoch(), tokenizer.vocabulary_size)
    counts[list(tokenizer.special_ids)] = 0
    return counts
