"""A table of labels as bytes, which clients in other languages read and write, and what devices export.

All numbers are little endian. A table is `LABELSV1`; width and number of labels (int32); name_count, temperature,
threshold and added_bias (float64); the identifier of the space (16 characters); center, variances and name_offset
(float32); axes (float16, row after row); then its labels. A label is the length of its name (int32), the name in UTF-8,
its source (int32: 0 rows, 1 examples, 2 name), weight (float64), added (int32), sums and added_sums (float32).

An export is `LABELSX1`, width and number of labels, the identifier, and for each label the length of its name, the
name, the number of its examples (int32) and their sums (float32).
"""

import struct
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from keras_bert.core.checks import check
from plugins.open_labels.label_space import Array, Label, LabelSpace, Source

_TABLE, _EXPORT = b"LABELSV1", b"LABELSX1"
_SOURCES: tuple[Source, ...] = get_args(Source)


def pack_table(space: LabelSpace, labels: Mapping[str, Label]) -> bytes:
    """The bytes of a table."""
    numbers = (space.name_count, space.temperature, space.threshold, space.added_bias)
    head = struct.pack("<8s2i4d16s", _TABLE, len(space.center), len(labels), *numbers, space.digest().encode())
    arrays = [array.astype("<f4") for array in (space.center, space.variances, space.name_offset)]
    parts = [head, *(array.tobytes() for array in arrays), space.axes.astype("<f2").tobytes()]
    for name, label in labels.items():
        entry = struct.pack("<idi", _SOURCES.index(label.source), label.weight, label.added)
        parts += [_pack_name(name), entry, *(array.astype("<f4").tobytes() for array in (label.sums, label.added_sums))]
    return b"".join(parts)


def unpack_table(content: bytes) -> tuple[LabelSpace, dict[str, Label]]:
    """The space and the labels of a table; raises ValueError if the bytes are damaged."""
    reader = _Reader(content, _TABLE, "table of labels")
    width, count = reader.read("<2i")
    numbers = reader.read("<4d16s")[:4]
    center, variances, name_offset = (reader.array(width) for _ in range(3))
    axes = reader.array(width * width, "<f2").reshape(width, width)
    space = LabelSpace(center, axes, variances, name_offset, *numbers)
    labels = {}
    for _ in range(count):
        name, (source, weight, added) = reader.name(), reader.read("<idi")
        reader.check(source in range(len(_SOURCES)))
        sums = reader.array(width)
        labels[name] = Label(sums, weight, _SOURCES[source], added, reader.array(width))
    reader.check(reader.is_at_end and len(labels) == count)
    return space, labels


def pack_export(space: LabelSpace, labels: Mapping[str, Label]) -> bytes:
    """The bytes of the examples that were added to labels."""
    added = {name: label for name, label in labels.items() if label.added}
    parts = [struct.pack("<8s2i16s", _EXPORT, len(space.center), len(added), space.digest().encode())]
    for name, label in added.items():
        parts += [_pack_name(name), struct.pack("<i", label.added), label.added_sums.astype("<f4").tobytes()]
    return b"".join(parts)


def unpack_export(content: bytes, space: LabelSpace, owner: str) -> dict[str, tuple[int, Array]]:
    """Of each label the number and the sums of its examples; `owner` names the table with the space in errors.

    Raises:
        ValueError: the export is of a table of another space, or is damaged.
    """
    reader = _Reader(content, _EXPORT, "export of labels")
    width, count, digest = reader.read("<2i16s")
    ours, theirs = space.digest(), digest.decode(errors="replace")
    rule = f"be {ours}, the space of {owner}: sums of another encoder cannot be added"
    check("LabelTable", "space", theirs == ours, rule, theirs)
    reader.check(width == len(space.center))
    labels = {reader.name(): (reader.read("<i")[0], reader.array(width)) for _ in range(count)}
    reader.check(reader.is_at_end and len(labels) == count and all(examples > 0 for examples, _ in labels.values()))
    return labels


def _pack_name(name: str) -> bytes:
    encoded = name.encode()
    return struct.pack("<i", len(encoded)) + encoded


class _Reader:
    """Reads bytes one value after the other; raises ValueError where they end too early."""

    def __init__(self, content: bytes, kind: bytes, name: str) -> None:
        self._content, self._place, self._name = content, len(kind), name
        self.check(content.startswith(kind))

    @property
    def is_at_end(self) -> bool:
        return self._place == len(self._content)

    def check(self, is_valid: bool) -> None:
        check("LabelTable", "content", is_valid, f"be a whole {self._name}", f"{len(self._content)} bytes")

    def take(self, size: int) -> bytes:
        self.check(0 <= size <= len(self._content) - self._place)
        self._place += size
        return self._content[self._place - size : self._place]

    def read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def array(self, size: int, kind: str = "<f4") -> Array:
        self.check(size >= 0)
        return np.frombuffer(self.take(size * np.dtype(kind).itemsize), kind).astype("float32")

    def name(self) -> str:
        return self.take(self.read("<i")[0]).decode(errors="replace")
