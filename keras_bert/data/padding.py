"""Pads ragged rows of records to batches."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from keras_bert.core.checks import check
from keras_bert.data.batch_plan import BatchPlan
from keras_bert.data.batches import Batch, Batches, Parse
from keras_bert.data.record_store import RecordStore

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
    """Batches of a split's records, which `parse` makes a batch of.

    `where` is the source of the records, for errors; `reading` has further plain values that `parse` depends on. The
    longest feature in `along` decides the bucket of a row; `lengths_along` are numbers of tokens of further texts. The
    other arguments are those of `BatchPlan`.
    """
    check("dataset", "split", len(records) > 0, "hold a row", where)
    is_one = not any(boundary < longest for boundary in boundaries)
    lengths = None if is_one else records.longest(along, lengths_along)
    plan = BatchPlan(len(records), batch_size, longest=longest, lengths=lengths, boundaries=boundaries, **order)
    return Batches(records, plan, parse, longest if is_one else None, reading)
