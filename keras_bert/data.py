"""TFRecords of examples -> tf.data: padded batches of int32 tensors, in the same order for the same seed."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_bert.config import Masking, check
from keras_bert.dynamic_masking import DynamicMasking
from keras_bert.records import RecordError, count_records, read_features, read_labels, read_records

Batch = dict[str, tf.Tensor]
# Serialized examples, or with them what `Dataset.enumerate` put before them; and how many tokens to pad to.
Parse = Callable[[Any, tf.Tensor | int], Batch]

_ROWS_AT_ONCE = 256
_INTEGERS = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
_SCALAR = tf.io.FixedLenFeature([], tf.int64)
_BYTES = tf.io.FixedLenFeature([], tf.string)
_PAIR = {"token_ids": _INTEGERS, "segment_ids": _INTEGERS}


def pretraining_dataset(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    length: int | None = None,
    seed: int = 0,
    shuffle: bool = False,
    repeat: bool = False,
    drop_remainder: bool = False,
    bucket_boundaries: Sequence[int] = (),
) -> tf.data.Dataset:
    """Rows with hidden tokens, as `mask_examples` writes them.

    Each batch has token_ids, segment_ids, padding_mask (batch, length), mask_positions, mask_ids, mask_weights (batch,
    max_predictions) and, where rows are pairs, next_sentence_label (batch,); mask_weights are float32, all others
    int32.

    Rows that were written without hidden tokens get them here, others in each epoch of `repeat`; which ones depends on
    the seed, the epoch and the row alone. Read anew, the dataset begins with its first epoch again.

    Args:
        folder: holds `features.json` and `{split}-{length}-*.tfrecord`.
        split: `train` or `validation`.
        batch_size: rows a batch.
        length: the most tokens of the rows to read, where there are several lengths; None for the longest.
        seed: of the order, and of the tokens hidden here.
        shuffle: in a new order each epoch.
        repeat: without end.
        drop_remainder: leave out the last batch where it is not full.
        bucket_boundaries: lengths; a row waits for others that fit under the same one and is padded to it.
            Without them rows are padded to the longest length there is.

    Raises:
        FileNotFoundError: the folder has no records of this split.
        RecordError: a record is cut off or changed, or records are missing.
        ValueError: an argument is out of range.
    """
    content = read_features(folder)
    known = {entry["max_length"]: entry for entry in content["lengths"]}
    longest = max(known) if length is None else length
    check("dataset", "length", longest in known, f"be one of {list(known)}", length)
    masking = Masking(**known[longest]["masking"])
    files = _find(folder, f"{split}-{longest}-*.tfrecord")
    total = count_records(files, content["compression"])
    written = known[longest]["counts"][split]
    if total != written:
        raise RecordError(f"the {split}-{longest} files of {folder} must hold {written} records, found {total}")
    rows = read_records(files, content["compression"])
    parse = _parse_rows(content, masking)
    if content["dynamic"]:
        # This number stays with its row through the shuffling, the one given after it tells the epoch.
        rows = _order(rows.enumerate(), total, shuffle=shuffle, repeat=repeat, seed=seed).enumerate()
        parse = _hide(parse, DynamicMasking(folder, masking, seed, total))
    else:
        rows = _order(rows, total, shuffle=shuffle, repeat=repeat, seed=seed)
    return _batch(rows, parse, batch_size, longest, bucket_boundaries, drop_remainder)


def _parse_rows(content: dict[str, Any], masking: Masking) -> Parse:
    """From records to batches, as `features.json` describes them."""
    is_labelled = content["objective"] != "none"
    features = _PAIR | ({"next_sentence_label": _SCALAR} if is_labelled else {})
    if not content["dynamic"]:
        features |= {"mask_positions": _INTEGERS, "mask_ids": _INTEGERS}

    def parse(records: Any, length: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, features)
        batch = _pad_pair(rows, length)
        if not content["dynamic"]:
            for name in ("mask_positions", "mask_ids"):
                batch[name] = _pad(rows[name], masking.max_predictions)
            is_prediction = _pad(tf.ones_like(rows["mask_ids"]), masking.max_predictions)
            batch["mask_weights"] = tf.cast(is_prediction, tf.float32)
        if is_labelled:
            batch["next_sentence_label"] = tf.cast(rows["next_sentence_label"], tf.int32)
        return batch

    return parse


def _hide(parse: Parse, masking: DynamicMasking) -> Parse:
    """As `parse`, for records that were enumerated before and after shuffling, and with tokens hidden."""

    def parse_and_hide(rows: Any, length: tf.Tensor | int) -> Batch:
        places, (indices, records) = rows
        return masking(parse(records, length), places, indices)

    return parse_and_hide


def task_dataset(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    seed: int = 0,
    shuffle: bool = False,
    repeat: bool = False,
    drop_remainder: bool = False,
    bucket_boundaries: Sequence[int] = (),
) -> tf.data.Dataset:
    """Labelled rows, as `ingest_examples` writes them; the arguments are those of `pretraining_dataset`.

    Each batch has token_ids, segment_ids, padding_mask (batch, length) and label (batch,), all int32. Without
    shuffling and buckets the rows stand in the order of `read_texts`.
    """

    def parse(records: Any, length: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, {**_PAIR, "label": _SCALAR})
        return {**_pad_pair(rows, length), "label": tf.cast(rows["label"], tf.int32)}

    files = _find(folder, f"{split}.tfrecord")
    records = _order(read_records(files), count_records(files), shuffle=shuffle, repeat=repeat, seed=seed)
    longest = read_features(folder)["max_length"]
    return _batch(records, parse, batch_size, longest, bucket_boundaries, drop_remainder)


def read_texts(folder: str | os.PathLike[str], split: str) -> list[tuple[str, str, str]]:
    """(text, second text or "", name of the label) of each row of a split of TaskExamples, in order."""
    labels = read_labels(folder)
    features = {"text": _BYTES, "second_text": _BYTES, "label": _SCALAR}
    rows = []
    for records in read_records(_find(folder, f"{split}.tfrecord")).batch(1024):
        batch = {name: value.numpy() for name, value in tf.io.parse_example(records, features).items()}
        texts = ([text.decode() for text in batch[name]] for name in ("text", "second_text"))
        rows += list(zip(*texts, [labels[label] for label in batch["label"]], strict=True))
    return rows


def _find(folder: str | os.PathLike[str], pattern: str) -> list[str]:
    files = sorted(str(file) for file in Path(folder).glob(pattern))
    if not files:
        raise FileNotFoundError(f"{folder} must hold {pattern}, found none")
    return files


def _order(rows: tf.data.Dataset, total: int, *, shuffle: bool, repeat: bool, seed: int) -> tf.data.Dataset:
    """The rows in the order to read them; a buffer for all makes it independent of how they are sharded."""
    if shuffle:
        rows = rows.shuffle(max(1, min(total, 200_000)), seed=seed, reshuffle_each_iteration=True)
    return rows.repeat() if repeat else rows


def _batch(
    rows: tf.data.Dataset,
    parse: Parse,
    batch_size: int,
    longest: int,
    boundaries: Sequence[int],
    drop_remainder: bool,
) -> tf.data.Dataset:
    check("dataset", "batch_size", batch_size >= 1, "be at least 1", batch_size)
    rising = list(boundaries) == sorted({boundary for boundary in boundaries if boundary > 0})
    check("dataset", "bucket_boundaries", rising, "be positive and rise", list(boundaries))
    lengths = [boundary for boundary in boundaries if boundary < longest] + [longest]
    options = tf.data.Options()
    options.deterministic = True
    if len(lengths) == 1:
        # Parsing and hiding cost as much for a few rows as for many.
        groups = rows.batch(batch_size * max(1, _ROWS_AT_ONCE // batch_size))
        parsed = groups.map(lambda *row: parse(_only(row), longest), num_parallel_calls=tf.data.AUTOTUNE)
        parsed = parsed.rebatch(batch_size, drop_remainder=drop_remainder)
    else:
        parsed = _bucket(rows, batch_size, lengths, drop_remainder).map(
            lambda bucket, row: parse(row, tf.gather(tf.constant(lengths, tf.int64), bucket[0])),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
    return parsed.with_options(options).prefetch(tf.data.AUTOTUNE)


def _bucket(rows: tf.data.Dataset, batch_size: int, lengths: list[int], drop_remainder: bool) -> tf.data.Dataset:
    """Batches of (bucket, rows) whose rows all fit the same of `lengths`."""

    def place(*row: Any) -> tuple[tf.Tensor, Any]:
        batch = _only(row)
        records = batch[1][1] if isinstance(batch, tuple) else batch
        tokens = tf.io.parse_example(records, {"token_ids": _INTEGERS})["token_ids"]
        return tf.searchsorted(tf.constant(lengths, tf.int64), tokens.row_lengths(), out_type=tf.int64), batch

    # Lengths are read many rows at a time: parsing one by one costs more than all the rest.
    placed = rows.batch(_ROWS_AT_ONCE).map(place, num_parallel_calls=tf.data.AUTOTUNE).unbatch()
    return placed.group_by_window(
        key_func=lambda bucket, _: bucket,
        reduce_func=lambda _, found: found.batch(batch_size, drop_remainder=drop_remainder),
        window_size=batch_size,
    )


def _only(row: tuple[Any, ...]) -> Any:
    """What tf.data gave as separate arguments, as the one element that it was."""
    return row[0] if len(row) == 1 else row


def _pad_pair(rows: dict[str, tf.RaggedTensor], length: tf.Tensor | int) -> Batch:
    # 0 is no special case for the model: padding_mask says what is padding, whatever its id.
    batch = {name: _pad(rows[name], length) for name in _PAIR}
    batch["padding_mask"] = _pad(tf.ones_like(rows["token_ids"]), length)
    return batch


def _pad(rows: tf.RaggedTensor, length: tf.Tensor | int) -> tf.Tensor:
    """(batch, length) int32, filled up with 0."""
    shape = tf.stack([rows.nrows(), tf.cast(length, tf.int64)])
    padded = tf.cast(rows, tf.int32).to_tensor(0, shape=shape)
    return tf.ensure_shape(padded, [None, length]) if isinstance(length, int) else padded
