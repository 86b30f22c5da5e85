"""Reads the labelled rows of a task as padded batches, by the task's schema."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.folders import FEATURES_FILE
from keras_bert.core.losses import IGNORED
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.data.batches import INTEGER, INTEGERS, TEXT_ROW, Batch, Batches, Parse, pad, pad_pair, plan_batches
from keras_bert.data.record_store import RecordStore
from keras_bert.data.records import RecordError, find_records, read_features, read_labels
from keras_bert.data.schemas import SCHEMAS, TEACHER_ANSWERS, Feature, Kind, compares_rows, list_feature, record_schema

_PARSED: dict[Kind, Any] = {
    "tokens": INTEGERS,
    "labels": INTEGERS,
    "integer": INTEGER,
    "flags": INTEGERS,
    "group": INTEGER,
    "list": INTEGER,
    "group_set": INTEGERS,
    "texts": INTEGERS,
    "lengths": INTEGERS,
    "groups": INTEGERS,
    "pair": tf.io.FixedLenFeature([2], tf.int64),
    "number": tf.io.FixedLenFeature([], tf.float32),
    "answers": tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64),
    "scores": tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64),
}


class RecordRows:
    """Rows of a task, or texts, in a folder of records as a `BatchedRows`, see `task_batches`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        content = read_features(folder)
        self._folder, self.count, self.max_length = folder, content["counts"]["train"], content["max_length"]
        self.task, self.has_answers = content["task"], TEACHER_ANSWERS in content

    def training_batches(self, size: int, seed: int) -> Batches:
        """Shuffled batches of the training split."""
        options: dict[str, Any] = {"seed": seed, "shuffle": True, "bucket_boundaries": LENGTH_BUCKETS}
        return task_batches(self._folder, "train", size, **options)

    def validation_batches(self, size: int) -> Batches:
        """Batches of the validation split, in the order of the files."""
        return task_batches(self._folder, "validation", size, bucket_boundaries=LENGTH_BUCKETS)


def task_batches(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    seed: int = 0,
    shuffle: bool = False,
    bucket_boundaries: Sequence[int] = (),
) -> Batches:
    """Batches of labelled rows, as `ingest_examples` writes them.

    A batch has token_ids, segment_ids and padding_mask (batch, length) int32, and further features of the task that
    `features.json` names:

    - classification: `label` (batch,) int32
    - multi-label classification: `label` (batch, labels) int32, 0 or 1
    - regression: `value` (batch,) float32
    - token classification: `label` (batch, length) int32, `IGNORED` where no label is predicted
    - question answering: `positions` (batch, 2) int32
    - re-ranking: `value` (batch,) float32, and `list` (batch,) int32, equal for the rows of a query; these share a
      batch, which has about `batch_size` rows
    - embedding: `value` (batch,) float32, and the inputs of the second text as `second_...`
    - retrieval: `passage_group` (batch,) int32, equal for passages that answer the same queries; `answer_groups`
      (batch, answers) int32, the groups of all passages of the row's query, padded with -1; the inputs of passages as
      `second_...` and those of all negatives of the batch as `negative_...` (negatives, length), `negative_group`
      (negatives,) and `negative_row`, the row of the batch that a negative belongs to (negatives,) int32; the inputs of
      queries are no longer than the longest query of the split
    - rows with a teacher's answers: `teacher_answers` float32, the result of `TaskObjective.run` for the teacher; if
      the user's data hold these answers, `has_label` and `has_answers` (batch,) int32, see
      `DistillationObjective.measure`, and for retrieval the scores of passages as `teacher_answers` (batch,) and
      `negative_scores` (negatives,)

    Without shuffling and buckets, rows are in the order of the files.

    `folder` holds `features.json`, `{split}.tfrecord` and, for tasks with labels, `labels.json`. For other arguments
    see `BatchPlan`; if the loss compares rows, as for retrieval, batches have rows of all lengths.
    """
    content = read_features(folder)
    longest: Any = content.get("max_length")
    is_length = type(longest) is int and 1 <= longest < 2**31  # rows are padded to this int32
    is_valid = {"task": content.get("task") in list(SCHEMAS), "max_length": is_length}
    for field, valid in is_valid.items():
        if not valid:
            raise RecordError(f"{FEATURES_FILE} of {folder} must say {field}, got {content.get(field)!r}")
    schema = {name: feature for name, feature in record_schema(content).items() if feature.is_read}
    answers = content.get(TEACHER_ANSWERS)
    if answers is not None:
        schema[TEACHER_ANSWERS] = Feature("answers", "")
    records = RecordStore(find_records(folder, f"{split}.tfrecord"))
    where = f"{split}.tfrecord of {folder}"
    for name, feature in schema.items():
        if feature.kind in ("integer", "labels"):
            least = IGNORED if feature.kind == "labels" else 0
            _check_range(records, where, name, least, len(read_labels(folder)))
        elif feature.kind == "flags":
            count, lengths = len(read_labels(folder)), records.values(name).lengths
            bad = np.flatnonzero(lengths != count)
            if len(bad):
                raise RecordError(
                    f"{where} must have {count} values of {name}, one for each label, but record {bad[0]} has "
                    f"{lengths[bad[0]]}"
                )
            _check_range(records, where, name, 0, 2)
        elif feature.kind == "pair":
            _check_range(records, where, name, 0, longest)
    along = [name for name in schema if name.endswith("token_ids")]
    lengths_along = [name for name, feature in schema.items() if feature.kind == "lengths"]
    reading = {"task": content["task"]}
    narrow = [name for name, feature in schema.items() if feature.is_narrow or feature.kind == "group_set"]
    bounds = {name.removesuffix("token_ids"): int(records.longest([name]).max(initial=1)) for name in narrow}
    parse, lists = _parser(schema, answers or {}, bounds), list_feature(content["task"])
    return plan_batches(
        records,
        f"{split} of {folder}",
        parse,
        batch_size,
        longest,
        bucket_boundaries,
        reading,
        along=along,
        lengths_along=lengths_along,
        shuffle=shuffle,
        seed=seed,
        mixed=compares_rows(content["task"]),
        lists=None if lists is None else records.values(lists).values,
    )


def _parser(schema: Mapping[str, Feature], answers: Mapping[str, Any], bounds: Mapping[str, int]) -> Parse:
    """The function that parses records into a batch; `bounds` has the widths of texts, by prefix, and of sets."""
    prefixes = [name.removesuffix("token_ids") for name in schema if name.endswith("token_ids")]
    features = {name: _PARSED[feature.kind] for name, feature in schema.items()}

    def parse(records: tf.Tensor, _: tf.Tensor, __: tf.Tensor, width: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, features)
        batch: Batch = {}
        for prefix in prefixes:
            batch |= pad_pair(rows, _smaller(width, bounds[prefix]) if prefix in bounds else width, prefix)
        for name, feature in schema.items():
            if feature.kind == "texts":
                batch |= _pad_texts(rows, width, name.removesuffix("texts"))
            elif feature.kind in ("lengths", "groups"):
                continue
            elif feature.kind == "labels":
                batch[name] = pad(rows[name], width, IGNORED)
            elif feature.kind == "group_set":
                batch[name] = pad(rows[name], bounds[name], filling=-1)
            elif feature.kind == "flags":
                batch[name] = tf.cast(rows[name].to_tensor(), tf.int32)
            elif feature.kind == "scores":
                batch[name] = rows[name].flat_values
            elif feature.kind == "answers":
                batch[name] = _as_answers(rows[name], width, **answers)
            elif feature.kind != "tokens":
                batch[name] = rows[name] if feature.kind == "number" else tf.cast(rows[name], tf.int32)
        return batch

    return parse


def _smaller(width: tf.Tensor | int, bound: int) -> tf.Tensor | int:
    return min(width, bound) if isinstance(width, int) else tf.minimum(width, tf.cast(bound, width.dtype))


def _pad_texts(rows: Mapping[str, tf.RaggedTensor], width: tf.Tensor | int, prefix: str) -> Batch:
    """The inputs (texts, width) of all texts of a batch that have a prefix, and the group and the row of each text."""
    lengths = rows[f"{prefix}lengths"]
    texts = tf.RaggedTensor.from_row_lengths(rows[f"{prefix}texts"].flat_values, lengths.flat_values)
    inputs = pad_pair({f"{prefix}token_ids": texts, f"{prefix}segment_ids": tf.zeros_like(texts)}, width, prefix)
    return {
        **inputs,
        f"{prefix}group": tf.cast(rows[f"{prefix}groups"].flat_values, tf.int32),
        f"{prefix.removesuffix('_')}{TEXT_ROW}": tf.cast(lengths.value_rowids(), tf.int32),
    }


def _as_answers(
    rows: tf.RaggedTensor, width: tf.Tensor | int, *, shape: Sequence[int], along: bool, filling: float
) -> tf.Tensor:
    """Reshapes answers (batch, numbers) to (batch, ...), or (batch, width, ...) if there is one for each token."""
    numbers = math.prod(shape) * (tf.cast(width, tf.int64) if along else 1)
    flat = rows.to_tensor(filling, shape=tf.stack([rows.nrows(), numbers]))
    return tf.reshape(flat, [-1, *([width] if along else []), *shape])


def _check_range(records: RecordStore, where: str, feature: str, least: int, count: int) -> None:
    """Raises RecordError for a label out of range, which on some devices would only turn the loss into NaN."""
    labels = records.values(feature)
    bad = np.flatnonzero((labels.values < least) | (labels.values >= count))
    if len(bad):
        record = int(np.searchsorted(np.cumsum(labels.lengths), bad[0], side="right"))
        raise RecordError(
            f"{where} must have {feature} from {least} to {count - 1}, but record {record} has {labels.values[bad[0]]}"
        )
