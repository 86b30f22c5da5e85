"""Rows in memory as numbered batches, as `Batches` has them of files."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.losses import IGNORED
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.data.batch_plan import BatchPlan
from keras_bert.data.batches import reading_options
from keras_bert.data.schemas import SCHEMAS, TEACHER_ANSWERS, compares_rows, list_feature

Array = np.ndarray[Any, Any]


class ArrayRows:
    """Rows of a task in memory as a `BatchedRows`, with the batches that `RecordRows` makes of the same rows.

    `rows` and the validation rows `held_out` are arrays (rows, ...) by name; inputs, and labels of tokens, are (rows,
    length). Arrays without rows, as the inputs of negatives that no row has, are part of each batch. The task of
    texts without labels is `TEXT`.
    """

    def __init__(
        self, task: str, rows: Mapping[str, Array], max_length: int, held_out: Mapping[str, Array] | None = None
    ) -> None:
        self.task, self._rows, self._held_out = task, rows, held_out
        self.count, self.max_length, self.has_answers = len(rows["padding_mask"]), max_length, TEACHER_ANSWERS in rows

    def training_batches(self, size: int, seed: int) -> "ArrayBatches":
        """Shuffled batches of all rows but those held out."""
        return ArrayBatches(self.task, self._rows, size, self.max_length, shuffle=True, seed=seed)

    def validation_batches(self, size: int) -> "ArrayBatches | None":
        """Batches of the rows held out, in their order."""
        return None if self._held_out is None else ArrayBatches(self.task, self._held_out, size, self.max_length)


class ArrayBatches:
    """Batches of `ArrayRows`: batch k of epoch e depends on the rows, the seed, e and k alone.

    Rows of about the same length share batches, unless the loss of the task compares rows. Inputs are cut or padded to
    the length of the batch, as those of `task_batches` are: rounding depends on it. See `BatchPlan` for the arguments.
    """

    def __init__(
        self,
        task: str,
        rows: Mapping[str, Array],
        batch_size: int,
        max_length: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
    ) -> None:
        schema = SCHEMAS.get(task, {})
        masks = [array for name, array in rows.items() if name.endswith("padding_mask") and len(array)]
        narrow = [name.removesuffix("token_ids") for name, feature in schema.items() if feature.is_narrow]
        self._narrow = {f"{prefix}{name}" for prefix in narrow for name in INPUT_NAMES}
        # Arrays with an entry for each token -> what they are padded with.
        self._along = {name: 0 for name in rows if name.endswith(INPUT_NAMES)}
        self._along |= {name: IGNORED for name, feature in schema.items() if feature.kind == "labels"}
        self._rows = rows
        self._plan = BatchPlan(
            len(rows["padding_mask"]),
            batch_size,
            longest=max_length,
            lengths=np.max([mask.sum(axis=1) for mask in masks], axis=0).astype("int64"),
            boundaries=LENGTH_BUCKETS,
            shuffle=shuffle,
            seed=seed,
            mixed=compares_rows(task),
            lists=rows.get(list_feature(task) or ""),
        )
        self.per_epoch = self._plan.per_epoch
        self._spec = {
            name: tf.TensorSpec([None, *([None] if name in self._along else array.shape[1:])], array.dtype)
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
            return [self._fit(name, array, plan.width) for name, array in chosen.items()]

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

    def _fit(self, name: str, array: Array, width: int) -> Array:
        """An array of tokens cut or padded to the width of a batch; narrow ones are not padded, others stay."""
        if name not in self._along:
            return array
        missing = 0 if name in self._narrow else max(0, width - array.shape[1])
        return np.pad(array[:, :width], ((0, 0), (0, missing)), constant_values=self._along[name])
