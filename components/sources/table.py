"""Labelled rows from tables with named columns: texts or pairs, with labels or numbers."""

import dataclasses
import math
from typing import Literal, NamedTuple, get_args

from components.dsl.errors import InputError
from components.files.paths import match_files
from components.files.record_files import RECORD_KINDS, Record, as_text, read_records
from components.sources.shared import (
    check_labels,
    check_numbers,
    digest_splits,
    fingerprint_splits,
    given_splits,
    require,
)
from keras_bert.checks import check


class TextRow(NamedTuple):
    """One example of a task: a text, its label (or number) and the second text of a pair."""

    text: str
    label: str
    second_text: str | None = None


@dataclasses.dataclass(frozen=True)
class TableSource:
    """Rows with a label or a number, in tables with named columns: `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`.

    Attributes:
        train: the table of training rows; a folder or a pattern stands for several, see `TextSource.path`.
        validation: another table, or None to take a tenth of the training rows.
        test: likewise.
        text: the column of the text.
        label: the column of the label; labels are strings, those of a regression finite numbers.
        second_text: the column of a second text, for pairs.
        task: what the labels are: names of classes, numbers, or for `embedding` numbers that say how alike the two
            texts of a pair are.
        scale: for `embedding`, the number that says that both texts mean the same; labels are divided by it.
    """

    train: str
    validation: str | None = None
    test: str | None = None
    text: str = "text"
    label: str = "label"
    second_text: str | None = None
    task: Literal["classification", "regression", "embedding"] = "classification"
    scale: float = 1.0

    def __post_init__(self) -> None:
        for field in ("train", "text", "label"):
            require(f"TableSource.{field}", getattr(self, field))
        columns = self._columns()
        if len(set(columns)) < len(columns):
            raise ValueError(f"TableSource.text, label and second_text must be different columns, got {columns}")
        known = get_args(self.__annotations__["task"])
        check("TableSource", "task", self.task in known, f"be one of {known}", self.task)
        check("TableSource", "scale", self.scale > 0, "be positive", self.scale)
        own = self.task == "embedding"
        check("TableSource", "second_text", not own or self.second_text is not None, "be set for embedding", None)
        check("TableSource", "scale", own or self.scale == 1.0, "be left out but for embedding", self.scale)

    def check(self) -> None:
        """Raises InputError unless the tables can be read, have their columns and fit together, see `splits`."""
        self.splits()

    def fingerprint(self) -> str:
        """The digest of the task, of the columns' names and of the tables.

        Raises:
            InputError: a table is missing.
        """
        names = "|".join(map(repr, [self.task, self.scale, *self._columns()]))
        return fingerprint_splits(names, self._paths(), RECORD_KINDS)

    def digests(self) -> dict[str, str]:
        """The tables with their digests; raises as `fingerprint`."""
        return digest_splits(self._paths(), RECORD_KINDS)

    def splits(self) -> dict[str, list[TextRow]]:
        """The rows of each table that is given, by split.

        Raises:
            InputError: a table is missing, empty, not UTF-8 or without a named column; has fewer than two labels,
                or a validation or test label that training never saw; or, for a regression, what is no number, or
                only one number in validation or test.
        """
        numbers = self.task != "classification"
        tables = {
            split: read_table(path, self.text, self.label, self.second_text, numbers=numbers)
            for split, path in self._paths().items()
        }
        labels = {split: {row.label for row in rows} for split, rows in tables.items()}
        if numbers:
            check_numbers({split: own for split, own in labels.items() if split != "train"})
        else:
            check_labels(labels, f"column {self.label!r} of {self.train}")
        return self._scaled(tables) if self.task == "embedding" else tables

    def _scaled(self, tables: dict[str, list[TextRow]]) -> dict[str, list[TextRow]]:
        """The tables with labels that are cosines."""
        for split, rows in tables.items():
            for row in rows:
                if abs(float(row.label)) > self.scale:
                    rule = f"be at most {self.scale:g}, examples.scale"
                    raise InputError(f"{split}: the label of {row.text[:40]!r} must {rule}, got {row.label}")
        return {
            split: [row._replace(label=str(float(row.label) / self.scale)) for row in rows]
            for split, rows in tables.items()
        }

    def _columns(self) -> list[str]:
        return [column for column in (self.text, self.label, self.second_text) if column is not None]

    def _paths(self) -> dict[str, str]:
        return given_splits(self.train, self.validation, self.test)


def read_table(
    path: str, text: str, label: str, second_text: str | None = None, *, numbers: bool = False
) -> list[TextRow]:
    """The rows of a table, or of several one after the other, given the names of its columns.

    Args:
        path: see `components.files.paths.match_files`; of the kinds `RECORD_KINDS`.
        text: the column of the text.
        label: that of the label.
        second_text: that of the second text of a pair.
        numbers: whether labels must be finite numbers.

    Raises:
        InputError: the table is missing, empty, not UTF-8, of an unknown kind, lacks a named column, or has a
            row without a text or label, or with a label that is no number.
    """
    columns = (text, label) if second_text is None else (text, label, second_text)
    files = match_files(path, RECORD_KINDS, what="the table")
    rows = [_make_row(record, columns, numbers) for file in files for record in read_records(file, columns)]
    if not rows:
        raise InputError(f"the table {path} must hold at least one row, got none")
    return rows


def _make_row(record: Record, columns: tuple[str, ...], numbers: bool) -> TextRow:
    values = [as_text(value, record.where, column) for column, value in zip(columns, record.values, strict=True)]
    for column, value in zip(columns, values, strict=True):
        if not value.strip():
            raise InputError(f"{record.where}: column {column!r} must not be empty")
    label = values[1].strip()
    if numbers and not _is_number(label):
        raise InputError(f"{record.where}: column {columns[1]!r} must be a finite number, got {label!r}")
    return TextRow(values[0], label, values[2] if len(values) > 2 else None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
