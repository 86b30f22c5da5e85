"""TFRecords of examples -> tf.data: padded batches of int32 tensors, in the same order for the same seed."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from keras_bert.config import check
from keras_bert.records import read_features, read_labels

Batch = dict[str, tf.Tensor]

_INTEGERS = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
_SCALAR = tf.io.FixedLenFeature([], tf.int64)
_BYTES = tf.io.FixedLenFeature([], tf.string)
_PAIR = {"token_ids": _INTEGERS, "segment_ids": _INTEGERS}


def pretraining_dataset(
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
    """Masked sentence pairs, as `mask_examples` writes them.

    Each batch has token_ids, segment_ids, padding_mask (batch, length), mask_positions, mask_ids,
    mask_weights (batch, max_predictions) and next_sentence_label (batch,); mask_weights are float32, all
    others int32.

    Args:
        folder: holds `features.json` and `{split}-*.tfrecord`.
        split: `train` or `validation`.
        batch_size: rows a batch.
        seed: of the order.
        shuffle: in a new order each epoch.
        repeat: without end.
        drop_remainder: leave out the last batch where it is not full.
        bucket_boundaries: lengths; a row waits for others that fit under the same one and is padded to it.
            Without them rows are padded to the longest length there is.

    Raises:
        FileNotFoundError: the folder has no records of this split.
        ValueError: an argument is out of range.
    """
    sizes = read_features(folder)
    predictions = sizes["max_predictions"]
    features = {**_PAIR, "mask_positions": _INTEGERS, "mask_ids": _INTEGERS, "next_sentence_label": _SCALAR}

    def parse(records: tf.Tensor, length: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, features)
        batch = _pad_pair(rows, length)
        for name in ("mask_positions", "mask_ids"):
            batch[name] = _pad(rows[name], predictions)
        batch["mask_weights"] = tf.cast(_pad(tf.ones_like(rows["mask_ids"]), predictions), tf.float32)
        batch["next_sentence_label"] = tf.cast(rows["next_sentence_label"], tf.int32)
        return batch

    files = _find(folder, f"{split}-*.tfrecord")
    records = _order(files, shuffle=shuffle, repeat=repeat, seed=seed)
    return _batch(records, parse, batch_size, sizes["max_length"], bucket_boundaries, drop_remainder)


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

    def parse(records: tf.Tensor, length: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, {**_PAIR, "label": _SCALAR})
        return {**_pad_pair(rows, length), "label": tf.cast(rows["label"], tf.int32)}

    records = _order(_find(folder, f"{split}.tfrecord"), shuffle=shuffle, repeat=repeat, seed=seed)
    longest = read_features(folder)["max_length"]
    return _batch(records, parse, batch_size, longest, bucket_boundaries, drop_remainder)


def read_texts(folder: str | os.PathLike[str], split: str) -> list[tuple[str, str, str]]:
    """(text, second text or "", name of the label) of each row of a split of TaskExamples, in order."""
    labels = read_labels(folder)
    features = {"text": _BYTES, "second_text": _BYTES, "label": _SCALAR}
    rows = []
    for records in tf.data.TFRecordDataset(_find(folder, f"{split}.tfrecord")).batch(1024):
        batch = {name: value.numpy() for name, value in tf.io.parse_example(records, features).items()}
        texts = ([text.decode() for text in batch[name]] for name in ("text", "second_text"))
        rows += list(zip(*texts, [labels[label] for label in batch["label"]], strict=True))
    return rows


def _find(folder: str | os.PathLike[str], pattern: str) -> list[str]:
    files = sorted(str(file) for file in Path(folder).glob(pattern))
    if not files:
        raise FileNotFoundError(f"{folder} must hold {pattern}, found none")
    return files


def _order(files: list[str], *, shuffle: bool, repeat: bool, seed: int) -> tf.data.Dataset:
    """The serialized records; a buffer for all of them makes the order independent of how they are sharded."""
    records = tf.data.TFRecordDataset(files)
    if shuffle:
        total = int(records.reduce(tf.constant(0, tf.int64), lambda count, _: count + 1))
        records = records.shuffle(max(1, min(total, 200_000)), seed=seed, reshuffle_each_iteration=True)
    return records.repeat() if repeat else records


def _batch(
    records: tf.data.Dataset,
    parse: Callable[[tf.Tensor, tf.Tensor | int], Batch],
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
        batches = records.batch(batch_size, drop_remainder=drop_remainder)
        parsed = batches.map(lambda rows: parse(rows, longest), num_parallel_calls=tf.data.AUTOTUNE)
    else:
        parsed = _bucket(records, batch_size, lengths, drop_remainder).map(
            lambda bucket, rows: parse(rows, tf.gather(tf.constant(lengths, tf.int64), bucket[0])),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
    return parsed.with_options(options).prefetch(tf.data.AUTOTUNE)


def _bucket(records: tf.data.Dataset, batch_size: int, lengths: list[int], drop_remainder: bool) -> tf.data.Dataset:
    """Batches of (bucket, records) whose rows all fit the same of `lengths`."""

    def place(batch: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        tokens = tf.io.parse_example(batch, {"token_ids": _INTEGERS})["token_ids"]
        return tf.searchsorted(tf.constant(lengths, tf.int64), tokens.row_lengths(), out_type=tf.int64), batch

    # Lengths are read many rows at a time: parsing one by one costs more than all the rest.
    placed = records.batch(256).map(place, num_parallel_calls=tf.data.AUTOTUNE).unbatch()
    return placed.group_by_window(
        key_func=lambda bucket, _: bucket,
        reduce_func=lambda _, rows: rows.batch(batch_size, drop_remainder=drop_remainder),
        window_size=batch_size,
    )


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
