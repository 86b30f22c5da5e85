"""Hiding tokens while rows are read: others in each epoch, the same for the same seed, epoch and row."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bert.digests import digest
from keras_bert.folders import VOCABULARY_FILE
from keras_bert.masking.masks import describe_pieces, mask_rows
from keras_bert.masking.row_random import row_keys
from keras_bert.options.masking import Masking
from keras_bert.tokenizers.loading import load_tokenizer

Batch = dict[str, tf.Tensor]


class DynamicMasking:
    """Hides tokens of batches in a `tf.data` pipeline.

    Which ones depends on the seed, the epoch and the number of the row, not on the batch, its length or the thread.

    Args:
        folder: of the rows, with their tokenizer.
        masking: which tokens to hide.
        seed: of all choices.
    """

    def __init__(self, folder: str | os.PathLike[str], masking: Masking, seed: int) -> None:
        self._pieces = describe_pieces(load_tokenizer(folder))
        self._vocabulary = digest([(Path(folder) / VOCABULARY_FILE).read_bytes()])
        self._masking, self._seed = masking, seed

    def identity(self) -> dict[str, Any]:
        """What its choices depend on, besides epoch and row, as plain values."""
        return {"masking_seed": self._seed, "vocabulary": self._vocabulary}

    def __call__(self, batch: Batch, epochs: tf.Tensor, indices: tf.Tensor) -> Batch:
        """A batch with tokens hidden.

        Args:
            batch: token_ids and padding_mask (batch, length) int32, and what else there is.
            epochs: (batch,), the pass over the rows in which each stands.
            indices: (batch,), the number of each row in the files.
        """
        kinds = [tf.int32, tf.int32, tf.int32, tf.float32]
        shape = batch["token_ids"].shape
        hidden = tf.numpy_function(
            self._mask, [batch["token_ids"], batch["padding_mask"], epochs, indices], kinds, stateful=False
        )
        wide = (shape[0], self._masking.max_predictions)
        names = ("token_ids", "mask_positions", "mask_ids", "mask_weights")
        shapes = (shape, wide, wide, wide)
        return batch | {
            name: tf.ensure_shape(values, known) for name, values, known in zip(names, hidden, shapes, strict=True)
        }

    def _mask(
        self,
        token_ids: NDArray[np.int32],
        padding_mask: NDArray[np.int32],
        epochs: NDArray[np.int64],
        indices: NDArray[np.int64],
    ) -> tuple[Any, ...]:
        return mask_rows(
            token_ids,
            (padding_mask == 1) & ~self._pieces.is_special[token_ids],
            masking=self._masking,
            mask_id=self._pieces.mask_id,
            replacement_ids=self._pieces.replacement_ids,
            keys=row_keys(self._seed, epochs, indices),
            continues=self._pieces.continues[token_ids],
        )
