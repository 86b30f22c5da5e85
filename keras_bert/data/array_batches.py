"""Rows in memory as numbered batches, as `Batches` has them of files."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.data.batch_plan import BatchPlan
from keras_bert.data.batches import reading_options

Array = np.ndarray[Any, Any]


class ArrayBatches:
    """Batches of rows in memory: batch k of epoch e depends on the rows, the seed, e and k alone.

    Rows of about the same length share batches, unless `mixed`, and inputs are cut to the length of the batch.

    Args:
        rows: arrays (rows, ...) by name; inputs, and labels of tokens, are (rows, length). Arrays without rows, as the
            inputs of negatives that no row has, are part of each batch.
        batch_size: number of rows in a batch.
        token_labels: names of arrays with a label for each token, which are truncated as the inputs are.
        shuffle: whether every epoch has a new random order.
        seed: seed of the order.
        mixed: whether rows of all lengths share batches, see `BatchPlan`.
        lists: the list of each row, see `BatchPlan`.
    """

    def __init__(
        self,
        rows: Mapping[str, Array],
        batch_size: int,
        *,
        token_labels: Sequence[str] = (),
        shuffle: bool = False,
        seed: int = 0,
        mixed: bool = False,
        lists: Array | None = None,
    ) -> None:
        masks = [array for name, array in rows.items() if name.endswith("padding_mask") and len(array)]
        lengths = np.max([mask.sum(axis=1) for mask in masks], axis=0).astype("int64")
        self._rows, self._along = rows, (*INPUT_NAMES, *token_labels)
        self._plan = BatchPlan(
            len(lengths),
            batch_size,
            longest=int(lengths.max()),
            lengths=lengths,
            boundaries=[length for length in LENGTH_BUCKETS if length < lengths.max()],
            shuffle=shuffle,
            seed=seed,
            mixed=mixed,
            lists=lists,
        )
        self.per_epoch = self._plan.per_epoch
        self._spec = {
            name: tf.TensorSpec([None, *([None] if name.endswith(self._along) else array.shape[1:])], array.dtype)
            for name, array in rows.items()
        }

    def identity(self) -> dict[str, Any]:
        """The plan of the batches; rows in memory have no checkpoints that depend on it."""
        return self._plan.identity()

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """All batches of an epoch, see `Batches.epoch`."""
        return self.after(number * self.per_epoch, shares=shares, of=of, stop=(number + 1) * self.per_epoch)

    def after(
        self, done: int, *, shares: Sequence[int] = (0,), of: int = 1, stop: int | None = None
    ) -> tf.data.Dataset:
        """The batches from number `done` on, without end or before number `stop`, see `Batches.after`."""

        def read(place: Array) -> list[Array]:
            number, share = divmod(int(place), len(shares))
            plan = self._plan.part(done + number, shares[share], of)
            chosen = {name: array[plan.rows] if len(array) else array for name, array in self._rows.items()}
            return [array[:, : plan.width] if name.endswith(self._along) else array for name, array in chosen.items()]

        def batch(place: tf.Tensor) -> dict[str, tf.Tensor]:
            arrays = tf.numpy_function(read, [place], [spec.dtype for spec in self._spec.values()])
            return {
                name: tf.ensure_shape(array, spec.shape)
                for (name, spec), array in zip(self._spec.items(), arrays, strict=True)
            }

        # `from_generator` makes the allocator return all that is freed to the system (`M_TRIM_THRESHOLD`) for the rest
        # of the process: a training step has 170,000 page faults then and needs half more processor time (docs/log.md).
        count = np.iinfo(np.int64).max if stop is None else (stop - done) * len(shares)
        return tf.data.Dataset.range(count).map(batch).with_options(reading_options()).prefetch(2)

    def first(self, count: int) -> tf.data.Dataset:
        """The first batches of epoch 0, see `Batches.first`."""
        return self.after(0, stop=min(count, self.per_epoch))
