"""Rows -> `tf.data`: batches by number, in the same order for the same seed, from any batch on."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.data.batch_plan import BatchPlan
from keras_bert.data.record_store import RecordStore

Batch = dict[str, tf.Tensor]
# Serialized examples (rows,), their numbers and epochs (rows,), and how many tokens to pad to.
Parse = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor | int], Batch]

_ROWS_AT_ONCE = 256
# Batches that wait to be asked for, beside those that were parsed with them.
_AHEAD = 2
_FOREVER = np.iinfo(np.int64).max


class Batches:
    """Batches by number: batch k of epoch e depends on nothing but the rows, the seed, e and k.

    Args:
        records: the serialized examples.
        plan: which of them stand in which batch.
        parse: makes a batch of them.
        width: tokens that all batches are padded to, None where they differ.
        reading: what else `parse` depends on, as plain values.

    Attributes:
        per_epoch: batches of an epoch.
    """

    def __init__(
        self, records: RecordStore, plan: BatchPlan, parse: Parse, width: int | None, reading: Mapping[str, Any]
    ) -> None:
        self._records, self._plan, self._parse, self._width, self._reading = records, plan, parse, width, reading
        self._epochs: dict[tuple[Any, ...], tf.data.Dataset] = {}
        self.per_epoch = plan.per_epoch

    def identity(self) -> dict[str, Any]:
        """What tells these batches from others, as plain values: the same in any process and for copies elsewhere."""
        return {"records": self._records.digest, **self._plan.identity(), **self._reading}

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """All batches of one epoch; `shares` and `of` as for `after`."""
        # Asked for at every validation: to make a dataset is to trace its functions.
        asked = number, tuple(shares), of
        if asked not in self._epochs:
            self._epochs[asked] = self._read(number * self.per_epoch, (number + 1) * self.per_epoch, tuple(shares), of)
        return self._epochs[asked]

    def after(
        self, done: int, *, shares: Sequence[int] = (0,), of: int = 1, stop: int | None = None
    ) -> tf.data.Dataset:
        """The batches from number `done` on, without end; none of those before is read.

        Args:
            done: batches that were read before.
            shares: which parts of each batch to give, one after the other: of the devices that read here.
            of: how many parts there are, each with every so-manyth row: of all devices.
            stop: the batch before which to end.
        """
        return self._read(done, stop, tuple(shares), of)

    def _read(self, start: int, stop: int | None, shares: tuple[int, ...], of: int) -> tf.data.Dataset:
        # Parsing and hiding cost as much for a few rows as for many, if they are padded alike.
        group = 1 if self._width is None else max(1, _ROWS_AT_ONCE * of // self._plan.batch_size)
        group = -(-group // len(shares)) * len(shares)
        first, last = start * len(shares), _FOREVER - group if stop is None else stop * len(shares)

        def fetch(item: int) -> tuple[Any, ...]:
            parts = [self._part(number, shares, of) for number in range(item, min(item + group, last))]
            rows = np.concatenate([rows for _, rows, _ in parts])
            counts = [len(rows) for _, rows, _ in parts]
            epochs = np.repeat(np.array([epoch for epoch, _, _ in parts], np.int64), counts)
            # NumPy's own strings of bytes lose the zeros at their end.
            records = np.array([*self._records.read(rows), None], object)[:-1]
            return records, rows, epochs, np.int64(parts[0][2]), np.cumsum([0, *counts])

        kinds = [tf.string, tf.int64, tf.int64, tf.int64, tf.int64]

        @tf.autograph.experimental.do_not_convert
        def parse(item: tf.Tensor) -> tuple[Batch, tf.Tensor]:
            records, rows, epochs, width, ends = tf.numpy_function(fetch, [item], kinds, stateful=False)
            for known in (records, rows, epochs, ends):
                known.set_shape([None])
            width.set_shape([])
            return self._parse(records, rows, epochs, self._width or width), ends

        groups = tf.data.Dataset.range(first, last, group).map(parse, num_parallel_calls=os.cpu_count() or 1)
        # A batch is as large as any other where none is left unfilled: accelerators compile for one size.
        size = self._plan.batch_size // of if self._plan.is_even and self._plan.batch_size % of == 0 else None
        split = tf.autograph.experimental.do_not_convert(lambda batch, ends: _split(batch, ends, size))
        batches = groups.flat_map(split)
        return batches.with_options(reading_options()).prefetch(_AHEAD)

    def _part(self, item: int, shares: tuple[int, ...], of: int) -> tuple[int, Any, int]:
        """Epoch, rows and width of one share of one batch."""
        epoch, rows, width = self._plan.batch(item // len(shares))
        return epoch, rows[shares[item % len(shares)] :: of], width


class Phases:
    """Batches of one kind, then of another, as those of short rows and then of long ones.

    Args:
        first: see `Batches`.
        count: how many of them come.
        then: what comes after.

    Attributes:
        per_epoch: as `Batches` has it, of what comes last.
    """

    def __init__(self, first: Batches, count: int, then: Batches) -> None:
        self._first, self._count, self._then = first, count, then
        self.per_epoch = then.per_epoch

    def identity(self) -> dict[str, Any]:
        """As `Batches.identity`, of both kinds."""
        kinds = {"first": self._first.identity(), "then": self._then.identity()}
        parts = {f"{kind}.{name}": value for kind, found in kinds.items() for name, value in found.items()}
        return {"count": self._count, **parts}

    def after(self, done: int, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """The batches from number `done` on, as `Batches.after` gives them."""
        rest = self._then.after(max(0, done - self._count), shares=shares, of=of)
        if done >= self._count:
            return rest
        return self._first.after(done, shares=shares, of=of, stop=self._count).concatenate(rest)

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> tf.data.Dataset:
        """An epoch of what comes last."""
        return self._then.epoch(number, shares=shares, of=of)


def reading_options() -> tf.data.Options:
    """Batches in order, and no thread that tunes the reading: to let go of a dataset waits until that thread wakes.

    It sleeps twice as long each time, up to a minute (TensorFlow 2.21, measured).
    """
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = False
    return options


def _split(batches: Batch, ends: tf.Tensor, size: int | None) -> tf.data.Dataset:
    """Several batches that were parsed together, one by one; all of one size, if it is known."""

    @tf.autograph.experimental.do_not_convert
    def cut(place: tf.Tensor) -> Batch:
        rows = {name: values[ends[place] : ends[place + 1]] for name, values in batches.items()}
        return {name: tf.ensure_shape(values, [size, *values.shape[1:]]) for name, values in rows.items()}

    return tf.data.Dataset.range(tf.size(ends, tf.int64) - 1).map(cut)
