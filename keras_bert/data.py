"""Folders of TFRecords -> batches: what the records of pre-training and of each task hold, checked and padded."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.batch_plan import BatchPlan
from keras_bert.batches import Batch, Batches, Parse
from keras_bert.config import Masking, check
from keras_bert.dynamic_masking import DynamicMasking
from keras_bert.losses import IGNORED
from keras_bert.record_store import RecordStore
from keras_bert.records import RecordError, read_features, read_labels, read_records

_INTEGERS = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
_SCALAR = tf.io.FixedLenFeature([], tf.int64)
_BYTES = tf.io.FixedLenFeature([], tf.string)
_PAIR = {"token_ids": _INTEGERS, "segment_ids": _INTEGERS}
# What the records of each task have besides, see `components.task_records`.
_LABELS: dict[str, dict[str, Any]] = {
    "classification": {"label": _SCALAR},
    "regression": {"value": tf.io.FixedLenFeature([], tf.float32)},
    "token_classification": {"label": _INTEGERS},
    "question_answering": {"positions": tf.io.FixedLenFeature([2], tf.int64)},
}


def pretraining_batches(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    length: int | None = None,
    seed: int = 0,
    shuffle: bool = False,
    drop_remainder: bool = False,
    bucket_boundaries: Sequence[int] = (),
) -> Batches:
    """Rows with hidden tokens, as `mask_examples` writes them.

    Each batch has token_ids, segment_ids, padding_mask (batch, length), mask_positions, mask_ids, mask_weights (batch,
    max_predictions) and, where rows are pairs, next_sentence_label (batch,); mask_weights are float32, all others
    int32.

    Rows that were written without hidden tokens get them here, others in each epoch; which ones depends on the seed,
    the epoch and the row alone.

    Args:
        folder: holds `features.json` and `{split}-{length}-*.tfrecord`.
        split: `train` or `validation`.
        batch_size: rows a batch.
        length: the most tokens of the rows to read, where there are several lengths; None for the longest.
        seed: of the order, and of the tokens hidden here.
        shuffle: in a new order each epoch.
        drop_remainder: leave out the last batch of an epoch where it is not full.
        bucket_boundaries: lengths; a row stands beside others that fit under the same one and is padded to it.
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
    records = RecordStore(_find(folder, f"{split}-{longest}-*.tfrecord"), content["compression"])
    written = known[longest]["counts"][split]
    if len(records) != written:
        raise RecordError(f"the {split}-{longest} files of {folder} must hold {written} records, found {len(records)}")
    parse = _parse_rows(content, masking)
    reading = {"objective": content["objective"], "masking": dataclasses.asdict(masking)}
    if content["dynamic"]:
        hiding = DynamicMasking(folder, masking, seed)
        parse, reading = _hide(parse, hiding), reading | hiding.identity()
    order = {"shuffle": shuffle, "seed": seed, "drop_remainder": drop_remainder}
    return _plan(records, f"{split} of {folder}", parse, batch_size, longest, bucket_boundaries, reading, **order)


def _parse_rows(content: dict[str, Any], masking: Masking) -> Parse:
    """From records to batches, as `features.json` describes them."""
    is_labelled = content["objective"] != "none"
    features = _PAIR | ({"next_sentence_label": _SCALAR} if is_labelled else {})
    if not content["dynamic"]:
        features |= {"mask_positions": _INTEGERS, "mask_ids": _INTEGERS}

    def parse(records: tf.Tensor, _: tf.Tensor, __: tf.Tensor, width: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, features)
        batch = _pad_pair(rows, width)
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
    """As `parse`, and with tokens hidden."""

    def parse_and_hide(records: tf.Tensor, rows: tf.Tensor, epochs: tf.Tensor, width: tf.Tensor | int) -> Batch:
        return masking(parse(records, rows, epochs, width), epochs, rows)

    return parse_and_hide


def task_batches(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    seed: int = 0,
    shuffle: bool = False,
    drop_remainder: bool = False,
    bucket_boundaries: Sequence[int] = (),
    tokens: int | None = None,
) -> Batches:
    """Labelled rows, as `ingest_examples` writes them.

    Each batch has token_ids, segment_ids, padding_mask (batch, length) int32 and, by the task that `features.json`
    names: for classification `label` (batch,) int32, for regression `value` (batch,) float32, for token classification
    `label` (batch, length) int32 with `IGNORED` where nothing is to be said, for question answering `positions`
    (batch, 2) int32. Without shuffling and buckets the rows stand in the order of the files.

    Args:
        folder: holds `features.json`, `{split}.tfrecord` and, where there are labels, `labels.json`.
        split: `train`, `validation` or `test`.
        batch_size: see `pretraining_batches`, as are the next four.
        seed: of the order.
        shuffle: see there.
        drop_remainder: see there.
        bucket_boundaries: see there.
        tokens: of a batch, padding included, in place of `batch_size`; see `BatchPlan`.

    Raises:
        FileNotFoundError: the folder has no records of this split.
        RecordError: a record is cut off or changed, or has a label that there is not.
        ValueError: an argument is out of range.
    """
    content = read_features(folder)
    labels = _LABELS[content["task"]]

    def parse(records: tf.Tensor, _: tf.Tensor, __: tf.Tensor, width: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, {**_PAIR, **labels})
        batch = _pad_pair(rows, width)
        for name, feature in labels.items():
            if feature is _INTEGERS:
                batch[name] = _pad(rows[name], width, IGNORED)
            else:
                batch[name] = rows[name] if feature.dtype is tf.float32 else tf.cast(rows[name], tf.int32)
        return batch

    records = RecordStore(_find(folder, f"{split}.tfrecord"))
    if "label" in labels:
        least = IGNORED if labels["label"] is _INTEGERS else 0
        _check_labels(records, f"{split}.tfrecord of {folder}", least, len(read_labels(folder)))
    if "positions" in labels:
        _check_labels(records, f"{split}.tfrecord of {folder}", 0, content["max_length"], "positions")
    order = {"shuffle": shuffle, "seed": seed, "drop_remainder": drop_remainder}
    where, longest, reading = f"{split} of {folder}", content["max_length"], {"task": content["task"]}
    return _plan(records, where, parse, batch_size, longest, bucket_boundaries, reading, tokens=tokens, **order)


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


def _plan(
    records: RecordStore,
    where: str,
    parse: Parse,
    batch_size: int,
    longest: int,
    boundaries: Sequence[int],
    reading: Mapping[str, Any],
    **order: Any,
) -> Batches:
    check("dataset", "split", len(records) > 0, "hold a row", where)
    is_one = not any(boundary < longest for boundary in boundaries)
    lengths = None if is_one else records.values("token_ids").lengths
    plan = BatchPlan(len(records), batch_size, longest=longest, lengths=lengths, boundaries=boundaries, **order)
    return Batches(records, plan, parse, longest if is_one else None, reading)


def _check_labels(records: RecordStore, where: str, least: int, count: int, feature: str = "label") -> None:
    """Raises RecordError for a label that there is not: on some devices it only makes the loss no number."""
    labels = records.values(feature)
    bad = np.flatnonzero((labels.values < least) | (labels.values >= count))
    if len(bad):
        number = int(np.searchsorted(np.cumsum(labels.lengths), bad[0], side="right"))
        rule = f"have {feature} from {least} to {count - 1}"
        raise RecordError(f"{where} must {rule}, but record {number} has {labels.values[bad[0]]}")


def _pad_pair(rows: dict[str, tf.RaggedTensor], width: tf.Tensor | int) -> Batch:
    # 0 is no special case for the model: padding_mask says what is padding, whatever its id.
    batch = {name: _pad(rows[name], width) for name in _PAIR}
    batch["padding_mask"] = _pad(tf.ones_like(rows["token_ids"]), width)
    return batch


def _pad(rows: tf.RaggedTensor, width: tf.Tensor | int, filling: int = 0) -> tf.Tensor:
    """(batch, width) int32, filled up."""
    shape = tf.stack([rows.nrows(), tf.cast(width, tf.int64)])
    padded = tf.cast(rows, tf.int32).to_tensor(filling, shape=shape)
    return tf.ensure_shape(padded, [None, width]) if isinstance(width, int) else padded
