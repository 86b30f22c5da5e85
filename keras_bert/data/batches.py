"""Reads rows as a `tf.data` pipeline: the same seed gives the same batches, from any batch on."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.checks import check
from keras_bert.data.batch_plan import BatchPlan
from keras_bert.data.record_store import RecordStore

Batch = dict[str, tf.Tensor]
# Arguments: serialized examples (rows,), their numbers (rows,) and epochs (rows,), and the length to pad to in tokens.
Parse = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor | int], Batch]

_ROWS_AT_ONCE = 256
# Rows may have any number of further texts, such as negatives. The entry PREFIX_row has the row of each of these texts,
# and all other entries that begin with PREFIX have the texts.
TEXT_ROW = "_row"
# The number of prefetched batches, in addition to the group that is being parsed.
_PREFETCH = 2
_FOREVER = np.iinfo(np.int64).max


class Batches:
    """Batches by number: batch k of epoch e depends on the rows, the seed, e and k alone.

    Args:
        records: the serialized examples.
        plan: assigns rows to batches.
        parse: makes a batch of serialized examples.
        width: the length in tokens that all batches are padded to; None if lengths differ.
        reading: the plain values that `parse` depends on.
    """

    def __init__(
        self, records: RecordStore, plan: BatchPlan, parse: Parse, width: int | None, reading: Mapping[str, Any]
    ) -> None:
        self._records, self._plan, self._parse, self._width, self._reading = records, plan, parse, width, reading
        self._epochs: dict[tuple[Any, ...], tf.data.Dataset] = {}
        self.per_epoch = plan.per_epoch

    def identity(self) -> dict[str, Any]:
        """Plain values that identify these batches, the same in every process and for copies of the files."""
        return {"records": self._records.digest, **self._plan.identity(), **self._reading}

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """All batches of an epoch; for `shares` and `of` see `after`."""
        # Every validation reads an epoch again, and making a dataset traces its functions.
        key = number, tuple(shares), of
        if key not in self._epochs:
            self._epochs[key] = self._read(number * self.per_epoch, (number + 1) * self.per_epoch, tuple(shares), of)
        return self._epochs[key]

    def after(
        self, done: int, *, shares: Sequence[int] = (0,), of: int = 1, stop: int | None = None
    ) -> tf.data.Dataset:
        """The batches from number `done` on, without end; earlier batches are not read.

        Args:
            done: number of batches that were read before.
            shares: the parts of every batch to yield, one after the other: one for each device of this process.
            of: number of parts of a batch, one for each device of all processes, see `BatchPlan.part`.
            stop: the batch before which to end; None reads without end.
        """
        return self._read(done, stop, tuple(shares), of)

    def first(self, count: int) -> tf.data.Dataset:
        """The first batches of epoch 0, or all of its batches if there are fewer: no row is read twice."""
        return self.after(0, stop=min(count, self.per_epoch))

    def _read(self, start: int, stop: int | None, shares: tuple[int, ...], of: int) -> tf.data.Dataset:
        # Parsing and masking a few rows takes as long as many, so batches of equal width are parsed in groups.
        group = 1 if self._width is None else max(1, _ROWS_AT_ONCE * of // self._plan.batch_size)
        group = -(-group // len(shares)) * len(shares)
        first, last = start * len(shares), _FOREVER - group if stop is None else stop * len(shares)

        def fetch(item: int) -> tuple[Any, ...]:
            numbers = range(item, min(item + group, last))
            parts = [self._plan.part(number // len(shares), shares[number % len(shares)], of) for number in numbers]
            rows = np.concatenate([rows for _, rows, _ in parts])
            counts = [len(rows) for _, rows, _ in parts]
            epochs = np.repeat(np.array([epoch for epoch, _, _ in parts], np.int64), counts)
            # An object array, because NumPy's byte strings lose trailing zeros.
            records = np.array([*self._records.read(rows), None], object)[:-1]
            return records, rows, epochs, np.int64(parts[0][2]), np.cumsum([0, *counts])

        kinds = [tf.string, tf.int64, tf.int64, tf.int64, tf.int64]

        @tf.autograph.experimental.do_not_convert
        def parse(item: tf.Tensor) -> tuple[Batch, tf.Tensor]:
            records, rows, epochs, width, ends = tf.numpy_function(fetch, [item], kinds, stateful=False)
            for vector in (records, rows, epochs, ends):
                vector.set_shape([None])
            width.set_shape([])
            return self._parse(records, rows, epochs, self._width or width), ends

        groups = tf.data.Dataset.range(first, last, group).map(parse, num_parallel_calls=os.cpu_count() or 1)
        batches = groups.flat_map(tf.autograph.experimental.do_not_convert(_split))
        return batches.with_options(reading_options()).prefetch(_PREFETCH)


class Phases:
    """The first `count` batches of one kind followed by batches of another, such as short rows and then long ones."""

    def __init__(self, first: Batches, count: int, then: Batches) -> None:
        self._first, self._count, self._then = first, count, then
        self.per_epoch = then.per_epoch

    def identity(self) -> dict[str, Any]:
        """Plain values that identify the batches, see `Batches.identity`."""
        kinds = {"first": self._first.identity(), "then": self._then.identity()}
        parts = {f"{kind}.{name}": value for kind, identity in kinds.items() for name, value in identity.items()}
        return {"count": self._count, **parts}

    def after(self, done: int, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """The batches from number `done` on, see `Batches.after`."""
        rest = self._then.after(max(0, done - self._count), shares=shares, of=of)
        if done >= self._count:
            return rest
        return self._first.after(done, shares=shares, of=of, stop=self._count).concatenate(rest)

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """All batches of an epoch of `then`."""
        return self._then.epoch(number, shares=shares, of=of)


def reading_options() -> tf.data.Options:
    """Options for deterministic order and without autotuning.

    Deleting a dataset waits until the autotuning thread wakes up, and that thread doubles its sleep each time, up to a
    minute (measured with TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = False
    return options


def _split(batches: Batch, ends: tf.Tensor) -> tf.data.Dataset:
    # Entries that hold any number of texts of a row, and the rows of these texts, ascending.
    places = {name.removesuffix(TEXT_ROW): name for name in batches if name.endswith(TEXT_ROW)}
    prefix_of = {name: prefix for name in batches for prefix in places if name.startswith(f"{prefix}_")}

    @tf.autograph.experimental.do_not_convert
    def cut(place: tf.Tensor) -> Batch:
        start, end = ends[place], ends[place + 1]
        spans = {}
        for prefix, name in places.items():
            borders = tf.cast(tf.stack([start, end]), batches[name].dtype)
            spans[prefix] = tf.unstack(tf.searchsorted(batches[name], borders))
        batch = {}
        for name, values in batches.items():
            if name in prefix_of:
                first, last = spans[prefix_of[name]]
                batch[name] = values[first:last]
            else:
                batch[name] = values[start:end]
        return {
            name: values - tf.cast(start, values.dtype) if name in places.values() else values
            for name, values in batch.items()
        }

    return tf.data.Dataset.range(tf.size(ends, tf.int64) - 1).map(cut)


INTEGERS = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
INTEGER = tf.io.FixedLenFeature([], tf.int64)
PAIR = {"token_ids": INTEGERS, "segment_ids": INTEGERS}


def pad_pair(rows: Mapping[str, tf.RaggedTensor], width: tf.Tensor | int, prefix: str = "") -> Batch:
    """The model inputs (batch, width) int32 of ragged rows; `prefix` precedes their names."""
    # Any id can be padding: the model reads padding_mask alone.
    batch = {f"{prefix}{name}": pad(rows[f"{prefix}{name}"], width) for name in PAIR}
    batch[f"{prefix}padding_mask"] = pad(tf.ones_like(rows[f"{prefix}token_ids"]), width)
    return batch


def pad(rows: tf.RaggedTensor, width: tf.Tensor | int, filling: int = 0) -> tf.Tensor:
    """Pads ragged rows with `filling` to (batch, width) int32."""
    shape = tf.stack([rows.nrows(), tf.cast(width, tf.int64)])
    padded = tf.cast(rows, tf.int32).to_tensor(filling, shape=shape)
    return tf.ensure_shape(padded, [None, width]) if isinstance(width, int) else padded


def plan_batches(
    records: RecordStore,
    where: str,
    parse: Parse,
    batch_size: int,
    longest: int,
    boundaries: Sequence[int],
    reading: Mapping[str, Any],
    *,
    along: Sequence[str] = ("token_ids",),
    lengths_along: Sequence[str] = (),
    **order: Any,
) -> Batches:
    """Batches of the records of a split, see `Batches` and `BatchPlan` for the arguments.

    `where` is the source of the records, for errors. The bucket of a row depends on its longest feature in `along`, and
    on the numbers of tokens of further texts in the features `lengths_along`.
    """
    check("dataset", "split", len(records) > 0, "hold a row", where)
    is_one = not any(boundary < longest for boundary in boundaries)
    lengths = None if is_one else records.longest(along, lengths_along)
    plan = BatchPlan(len(records), batch_size, longest=longest, lengths=lengths, boundaries=boundaries, **order)
    return Batches(records, plan, parse, longest if is_one else None, reading)
