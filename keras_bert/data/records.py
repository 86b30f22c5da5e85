"""Writes, reads and checks record files (TFRecord) and the JSON files beside them."""

import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.folders import FEATURES_FILE, LABELS_FILE, read_json_file, replaced_file
from keras_bert.options.data import Compression

Value = bytes | float | Sequence[int] | np.ndarray[Any, np.dtype[np.float32]]

_TENSORFLOW_NAMES: dict[Compression, str] = {"none": "", "gzip": "GZIP"}
_CHUNK = 1 << 20
# The overhead of a record: 8 bytes of length, and 4 bytes of checksum for the length and for the data.
_FRAME = 16


class RecordError(ValueError):
    """A record file, or a JSON file beside it, is corrupted."""


def serialize(features: dict[str, Value]) -> bytes:
    """Serializes a `tf.train.Example` of bytes, floats or integers by name; equal features give equal bytes."""
    protos = {}
    for name, value in features.items():
        if isinstance(value, bytes):
            protos[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        elif isinstance(value, float):
            protos[name] = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            protos[name] = tf.train.Feature(float_list=tf.train.FloatList(value=value.reshape(-1)))
        else:
            protos[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    return tf.train.Example(features=tf.train.Features(feature=protos)).SerializeToString(deterministic=True)


def write_records(
    file: str | os.PathLike[str],
    records: Iterable[bytes],
    *,
    compression: Compression = "none",
    scratch: str | os.PathLike[str] | None = None,
) -> int:
    """Writes a TFRecord file atomically, in place of an existing one, and returns the number of records.

    The unfinished file lies in `scratch`, on the same file system, or in the file's folder.
    """
    count = 0
    with (
        replaced_file(Path(file), scratch) as unfinished,
        tf.io.TFRecordWriter(os.fspath(unfinished), _TENSORFLOW_NAMES[compression]) as writer,
    ):
        for record in records:
            writer.write(record)
            count += 1
    return count


def read_serialized(files: Sequence[str], compression: Compression = "none") -> tf.data.Dataset:
    """The serialized examples of record files, in order."""
    return tf.data.TFRecordDataset(list(files), compression_type=_TENSORFLOW_NAMES[compression])


def count_records(files: Sequence[str], compression: Compression = "none") -> int:
    """Number of records in files; reads all of them and verifies their checksums."""
    return sum(_count(file, compression) for file in files)


def _count(file: str, compression: Compression) -> int:
    try:
        if compression == "none":
            size = os.path.getsize(file)
        else:  # raises for a truncated gzip file, which TensorFlow does not notice
            with gzip.open(file) as stream:
                size = sum(map(len, iter(lambda: stream.read(_CHUNK), b"")))
        zero = tf.constant(0, tf.int64)
        count, read = (
            read_serialized([file], compression)
            .batch(1024)
            .reduce(
                (zero, zero),
                lambda sums, records: (
                    sums[0] + tf.size(records, tf.int64),
                    sums[1] + tf.cast(tf.reduce_sum(tf.strings.length(records) + _FRAME), tf.int64),
                ),
            )
        )
        # TensorFlow reports no error if a file ends inside the length field of a record.
        if int(read) == size:
            return int(count)
        number = int(count)
    except (tf.errors.DataLossError, EOFError, OSError, zlib.error):
        number = 0
        with contextlib.suppress(tf.errors.OpError):
            for _ in read_serialized([file], compression):
                number += 1
    raise RecordError(f"{file} must hold whole records, but record {number} is truncated or corrupted")


def find_records(folder: str | os.PathLike[str], pattern: str) -> list[str]:
    """The record files of a folder that match a pattern, sorted."""
    files = sorted(str(file) for file in Path(folder).glob(pattern))
    if not files:
        raise FileNotFoundError(f"{folder} must hold {pattern}, found none")
    return files


def write_features(folder: str | os.PathLike[str], description: dict[str, Any]) -> None:
    """Writes `features.json`, which describes the records of a folder."""
    (Path(folder) / FEATURES_FILE).write_text(json.dumps(description, indent=1, sort_keys=True) + "\n")


def read_features(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads `features.json`: the task, max_length, the number of rows a split, ..."""
    description: dict[str, Any] = read_json_file(Path(folder) / FEATURES_FILE, dict, RecordError)
    return description


def write_labels(folder: str | os.PathLike[str], labels: Sequence[str]) -> None:
    """Writes `labels.json`: the names of the labels in the order of their ids."""
    content = json.dumps(list(labels), indent=1, ensure_ascii=False) + "\n"
    (Path(folder) / LABELS_FILE).write_text(content, encoding="utf-8")


def read_labels(folder: str | os.PathLike[str]) -> list[str]:
    """Reads `labels.json`."""
    labels: list[str] = read_json_file(Path(folder) / LABELS_FILE, list, RecordError)
    return labels
