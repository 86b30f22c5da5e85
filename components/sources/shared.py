"""Code that sources share: checks of fields, digests, and the properties that splits must have in common."""

import array
import copy
import dataclasses
import functools
import hashlib
import heapq
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from components.dsl.errors import InputError, nearest
from components.files.arrow_files import UnnamedClass
from components.files.paths import file_digest, match_files, short_name
from components.files.tables import RECORD_KINDS, Record
from components.files.text_files import extension, repair
from keras_bert.core.checks import broken_label_rule
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

SPLITS = ("train", "validation", "test")

Overlap = Literal["keep", "drop", "error"]
NearOverlap = Literal["off", "keep", "drop", "error"]

# Relative to the mean. float32 rounds each addition near a mean to 6e-8 of it; the 1,024 additions of a head sum up to
# an error of 2e-6, 2 % of this spread.
_LEAST_SPREAD = 1e-4


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class RowOrigin:
    """Where a row comes from. It does not count when rows are compared: rows with equal content are equal.

    Attributes:
        location: the file and the line or row, as `reviews.csv line 3`; empty for a row that is not from a file.
        columns: cells of the row by column, as texts: those that `KeptColumns` names.
    """

    location: str = dataclasses.field(default="", compare=False)
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, record: Record, path: str, columns: Sequence[str] = (), *, has_all: bool = False) -> "RowOrigin":
        """The origin of a record of the files of `path`, whose last values are those of `columns`.

        With `has_all`, it keeps all cells of the record.
        """
        last = record.values[len(record.values) - len(columns) :]
        kept = record.cells if has_all else dict(zip(columns, last, strict=True))
        return cls(record.name_in(path), {name: _as_cell(value) for name, value in kept.items()})


@validated_dataclass
class KeptColumns:
    """The columns of a table that rows keep in their `RowOrigin`.

    Attributes:
        test: columns of test rows, or of training rows if a part of these are the test rows; the table must have them.
        all_of_train: whether training rows keep all columns.
    """

    test: tuple[str, ...] = ()
    all_of_train: bool = False


class NotedSplits(dict[str, list[Any]]):
    """The rows of each split; `notes` are remarks for the user about how they were read, a line each."""

    notes: Sequence[str] = ()


@validated_dataclass(kw_only=False)
class LabelledFiles:
    """Settings that all sources of labelled files share.

    Attributes:
        train: the training rows: a file, a folder or a pattern, see `TextSource.path`.
        validation: the validation rows; None takes a tenth of the training rows, for questions the rows of a tenth of
            the contexts.
        test: likewise the test rows.
        overlap: the treatment of rows that are in two of the splits train, validation and test: `keep` keeps them,
            and log, metrics and model card give their number; `drop` leaves them out of the earlier split; `error`
            stops the run. It also applies to validation and test rows in the text of the pre-training, in unlabelled
            texts, in copies with replaced words and in new pairs.
        near_overlap: the treatment of rows with nearly the same texts, which share at least 60 % of their pairs of
            adjacent words; `off` does not look for such rows.
    """

    train: NonEmptyStr
    validation: str | None = None
    test: str | None = None
    overlap: Overlap = dataclasses.field(default="keep", kw_only=True)
    near_overlap: NearOverlap = dataclasses.field(default="keep", kw_only=True)

    kinds: ClassVar[tuple[str, ...]] = RECORD_KINDS

    def check(self) -> None:
        """Raises InputError unless the files can be read and their rows fit together, see `splits`."""
        self.splits()

    def splits(self, kept: KeptColumns = KeptColumns()) -> NotedSplits:
        """The rows of each split that is given, each with its `RowOrigin`.

        This object remembers them, also where it is pickled: they are read again if a file has changed, or other
        columns are to be kept.
        """
        digests, read = self.digests(), vars(self).get("_remembered")
        if read is None or read[0] != digests or kept not in (KeptColumns(), read[1]):
            read = digests, kept, self.read_splits(kept)
            # The fields are frozen; this is none of them, so that it counts in no comparison and no cache key.
            vars(self)["_remembered"] = read
        splits = copy.copy(read[2])
        splits.update({split: list(rows) for split, rows in splits.items()})
        return splits

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """See `splits`, which remembers the result."""
        raise NotImplementedError

    def paths(self) -> dict[str, str]:
        """The paths of the splits that are given, by split."""
        return {split: path for split in SPLITS if (path := getattr(self, split)) is not None}

    def has_test_rows(self, split: str) -> bool:
        """Whether test rows are taken from the files of a split."""
        return split == ("train" if self.test is None else "test")

    def fingerprint(self) -> str:
        """The digest of the settings, of the columns' names and of the files."""
        settings = {name: value for name, value in dataclasses.asdict(self).items() if name not in SPLITS}
        return fingerprint_splits(repr(sorted(settings.items())), self.paths(), self.kinds)

    def describe(self, splits: Mapping[str, Sequence[Any]]) -> list[str]:
        """Remarks for the user about the rows of `splits`, one line each."""
        return list(getattr(splits, "notes", ()))

    def digests(self) -> dict[str, str]:
        """The files of all splits, by path, with the digests of their contents."""
        return {
            file: file_digest(file)
            for split, path in self.paths().items()
            for file in _match_split(split, path, self.kinds)
        }


def check_label(label: str, place: str) -> None:
    """Checks that a label can stand on a line of its own, as in `labels.txt`.

    `place` names the file, the line or row and the value.
    """
    if (rule := broken_label_rule(label)) is not None:
        raise InputError(f"{place} must {rule}, got {label!r}; rename it in the data")


def check_labels(labels: Mapping[str, set[str]], owner: str) -> None:
    """Checks the labels of each split.

    `owner` names the column and the file of the training labels, for errors.
    """
    trained = sorted(labels["train"])
    if len(trained) < 2:
        raise InputError(f"{owner} must hold at least 2 labels, got only {trained}")
    for split, split_labels in labels.items():
        for label in sorted(split_labels.difference(trained)):
            hint = nearest(label, trained)
            raise InputError(f"{split} has the label {label!r}, which training never saw{hint}")


def check_numbers(numbers: Mapping[str, Iterable[str]], advice: str = "") -> None:
    """Checks the numbers of the splits that a regression is scored on: nothing correlates with a constant.

    The numbers of training rows may all be equal. `advice` is appended to the error.
    """
    for split, split_numbers in numbers.items():
        # Records hold float32, in which two different numbers may become equal.
        different = set(array.array("f", map(float, split_numbers)))
        if len(different) < 2:
            (only,) = different
            raise InputError(f"{split} must hold at least 2 different numbers to correlate, got only {only:g}{advice}")


def check_spread(numbers: Sequence[float], owner: str) -> None:
    """Checks that float32 can tell the numbers of a regression's training rows apart.

    `owner` is the column and the table.
    """
    mean, deviation = statistics.fmean(numbers), statistics.pstdev(numbers)
    least = _LEAST_SPREAD * abs(mean)
    if 0 < deviation < least:
        raise InputError(
            f"{owner} must have a standard deviation of at least {least:g}, {_LEAST_SPREAD:g} of its mean {mean:g}, as "
            f"model files compute in float32, got {deviation:.3g}; subtract a constant, as {mean:.0f}, from all numbers"
        )


def _as_cell(value: Any) -> str:
    # None, or the NaN that pandas writes in its place.
    if value is None or value != value or isinstance(value, UnnamedClass):
        return ""
    if isinstance(value, str | bytes):
        return repair(value)[0]
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def fingerprint_splits(settings: str, paths: Mapping[str, str], kinds: Sequence[str]) -> str:
    """The digest of settings, and of the names and contents of the files of each split."""
    parts = [("settings", settings)]
    for split, path in paths.items():
        files = _match_split(split, path, kinds)
        for file in files:
            # The name of a single file does not matter; among several it identifies the file.
            name = short_name(file, path) if len(files) > 1 else extension(file)
            parts.append((f"{split}/{name}", file_digest(file)))
    return digest(parts)


def _match_split(split: str, path: str, kinds: Sequence[str]) -> list[str]:
    return match_files(path, kinds, what=f"the {split} data")


def digest(parts: Iterable[tuple[str, str]]) -> str:
    """The SHA-256 of names with their contents, in this order."""
    whole = hashlib.sha256()
    for name, content in parts:
        whole.update(f"\0{name}\0{hashlib.sha256(content.encode()).hexdigest()}".encode())
    return whole.hexdigest()


@functools.lru_cache(maxsize=4)
def draw_rows(rows: int, count: int) -> Sequence[int]:
    """`count` of the indices of rows, ascending, or all: by hash, as every n-th row may have every n-th label."""
    if rows <= count:
        return range(rows)
    return sorted(heapq.nsmallest(count, range(rows), key=lambda row: stable_hash(str(row))))


def stable_hash(*parts: str) -> int:
    """A hash of texts, of 64 bits, that is the same in every process."""
    return int.from_bytes(hashlib.blake2b("/".join(parts).encode(), digest_size=8).digest(), "big")
