"""The records of examples: what a TFRecord of each kind holds, and how it is written."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

FEATURES_FILE = "features.json"
LABELS_FILE = "labels.json"

Value = bytes | Sequence[int]


def serialize(features: dict[str, Value]) -> bytes:
    """One `tf.train.Example`; equal features give equal bytes.

    Args:
        features: name -> bytes, or whole numbers (a sequence or an array).
    """
    return tf.train.Example(
        features=tf.train.Features(feature={name: _feature(value) for name, value in features.items()})
    ).SerializeToString(deterministic=True)


def _feature(value: Value) -> tf.train.Feature:
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def write_records(file: str | os.PathLike[str], records: Iterable[bytes]) -> int:
    """Writes a TFRecord file and returns how many records it has."""
    count = 0
    with tf.io.TFRecordWriter(os.fspath(file)) as writer:
        for record in records:
            writer.write(record)
            count += 1
    return count


def write_features(folder: str | os.PathLike[str], description: dict[str, Any]) -> None:
    """Writes `features.json`, which describes the records of a folder."""
    (Path(folder) / FEATURES_FILE).write_text(json.dumps(description, indent=1, sort_keys=True) + "\n")


def read_features(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write_features` wrote: max_length, the number of rows of each split, ..."""
    description: dict[str, Any] = json.loads((Path(folder) / FEATURES_FILE).read_text())
    return description


def write_labels(folder: str | os.PathLike[str], labels: Sequence[str]) -> None:
    """Writes `labels.json`: the names of the labels, a label's id being its place."""
    (Path(folder) / LABELS_FILE).write_text(json.dumps(list(labels), indent=1, ensure_ascii=False) + "\n")


def read_labels(folder: str | os.PathLike[str]) -> list[str]:
    """What `write_labels` wrote."""
    labels: list[str] = json.loads((Path(folder) / LABELS_FILE).read_text())
    return labels
