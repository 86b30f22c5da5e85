"""Random access to records by number, so that a training can resume anywhere."""

import functools
import gzip
import mmap
import shutil
import struct
import tempfile
from collections.abc import Sequence
from typing import IO, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bert.core.digests import digest
from keras_bert.data.records import count_records
from keras_bert.options.data import Compression

# A record is 8 bytes of length, 4 of checksum, the data, and 4 of checksum (tensorflow, `record_writer.h`).
_HEAD, _TAIL = 12, 4
_LENGTH = struct.Struct("<Q")
_ROWS_AT_ONCE = 4096


class RecordStore:
    """The records of several TFRecord files, numbered in order from 0.

    Files are memory-mapped; compressed files are decompressed into temporary files first.
    """

    def __init__(self, files: Sequence[str], compression: Compression = "none") -> None:
        count_records(files, compression)
        self._data = [_map(file, compression) for file in files]
        spans = [_find_records(data) for data in self._data]
        self._file = np.repeat(np.arange(len(spans)), [len(span) for span in spans])
        self._spans = np.concatenate([np.zeros((0, 2), np.int64), *spans])

    def __len__(self) -> int:
        return len(self._spans)

    def read(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """The serialized examples with these numbers."""
        places = zip(self._file[numbers].tolist(), self._spans[numbers].tolist(), strict=True)
        return [self._data[file][start:end] for file, (start, end) in places]

    @functools.cached_property
    def digest(self) -> str:
        """A digest of the records in their order, independent of file names and folders.

        It hashes the lengths and the stored checksums of the records, so that no record needs to be read.
        """
        checksums = [np.zeros((0, _TAIL), np.uint8)]
        for number, data in enumerate(self._data):
            ends = self._spans[self._file == number, 1]
            if len(ends):
                checksums.append(np.frombuffer(data, np.uint8)[ends[:, None] + np.arange(_TAIL)])
        return digest([np.diff(self._spans, axis=1).tobytes(), np.concatenate(checksums).tobytes()])

    def longest(self, features: Sequence[str], lengths: Sequence[str] = ()) -> NDArray[np.int64]:
        """The number of tokens (records,) of the longest text of a record.

        `features` hold the tokens of a text each, `lengths` the numbers of tokens of any number of texts.
        """
        counts = [self.values(feature).lengths for feature in features]
        for stored in map(self.values, lengths):
            most = np.zeros(len(self), np.int64)
            np.maximum.at(most, np.repeat(np.arange(len(self)), stored.lengths), stored.values)
            counts.append(most)
        return np.max(counts, axis=0)

    def values(self, feature: str) -> "FeatureValues":
        """The integers of a feature in all records."""
        kind = {feature: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)}
        values, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for start in range(0, len(self), _ROWS_AT_ONCE):
            records = self.read(np.arange(start, min(start + _ROWS_AT_ONCE, len(self))))
            rows = tf.io.parse_example(records, kind)[feature]
            values.append(rows.flat_values.numpy())
            lengths.append(rows.row_lengths().numpy())
        return FeatureValues(np.concatenate(values), np.concatenate(lengths))


class FeatureValues(NamedTuple):
    """The integers of a feature, of all records (values,), and the number of each record's (records,)."""

    values: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _map(file: str, compression: Compression) -> bytes | mmap.mmap:
    with open(file, "rb") as packed:
        if compression == "none":
            return _map_stream(packed)
        with tempfile.TemporaryFile() as unpacked, gzip.open(packed) as stream:
            shutil.copyfileobj(stream, unpacked)
            unpacked.flush()
            return _map_stream(unpacked)


def _map_stream(stream: IO[bytes]) -> bytes | mmap.mmap:
    return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if stream.seek(0, 2) else b""


def _find_records(data: bytes | mmap.mmap) -> NDArray[np.int64]:
    """The start and end (records, 2) of every record of a file that was checked to hold whole records."""
    spans = []
    place, end = 0, len(data)
    while place < end:
        (length,) = _LENGTH.unpack_from(data, place)
        start = place + _HEAD
        spans.append((start, start + length))
        place = start + length + _TAIL
    return np.array(spans, np.int64).reshape(-1, 2)
