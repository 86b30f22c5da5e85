"""Dynamic masking: rows are masked while they are read, differently in every epoch and reproducibly."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bert.core.digests import digest
from keras_bert.core.folders import VOCABULARY_FILE
from keras_bert.masking.masks import mask_rows, masking_vocabulary
from keras_bert.masking.row_random import row_keys
from keras_bert.options.pretraining import Masking
from keras_bert.tokenizers.loading import load_tokenizer

Batch = dict[str, tf.Tensor]


class DynamicMasking:
    """Masks batches of a folder's rows in a `tf.data` pipeline.

    The choice depends on the seed, the epoch and the index of the row, not on the batch, its length or the thread.
    """

    def __init__(self, folder: str | os.PathLike[str], masking: Masking, seed: int) -> None:
        self._tokens = masking_vocabulary(load_tokenizer(folder))
        self._vocabulary = digest([(Path(folder) / VOCABULARY_FILE).read_bytes()])
        self._masking, self._seed = masking, seed

    def identity(self) -> dict[str, Any]:
        """The plain values that the choices depend on, besides epoch and row."""
        return {"masking_seed": self._seed, "vocabulary": self._vocabulary}

    def __call__(self, batch: Batch, epochs: tf.Tensor, indices: tf.Tensor) -> Batch:
        """Masks token_ids (batch, length) int32 by the epoch and the index in the files of each row, both (batch,).

        Further features of the batch stay.
        """
        kinds = [tf.int32, tf.int32, tf.int32, tf.float32]
        shape = batch["token_ids"].shape
        masked = tf.numpy_function(
            self._mask, [batch["token_ids"], batch["padding_mask"], epochs, indices], kinds, stateful=False
        )
        wide = (shape[0], self._masking.max_predictions)
        names = ("token_ids", "mask_positions", "mask_ids", "mask_weights")
        shapes = (shape, wide, wide, wide)
        return batch | {
            name: tf.ensure_shape(values, static) for name, values, static in zip(names, masked, shapes, strict=True)
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
            (padding_mask == 1) & ~self._tokens.is_special[token_ids],
            masking=self._masking,
            mask_id=self._tokens.mask_id,
            replacement_ids=self._tokens.replacement_ids,
            keys=row_keys(self._seed, epochs, indices),
            continues=self._tokens.continues[token_ids],
        )
