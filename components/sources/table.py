"""Labelled rows from tables with named columns: texts or pairs, with labels or numbers."""

import json
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.arrow_files import UnnamedClass
from components.files.headers import read_rows
from components.files.paths import match_files, short_name
from components.files.record_files import RECORD_KINDS, Record, as_text, read_records
from components.files.text_files import repair
from components.sources.shared import (
    LabelledFiles,
    check_label,
    check_labels,
    check_numbers,
    check_spread,
    match_values,
)
from keras_bert.core.checks import broken_float32_rule, check
from keras_bert.core.validation import NonEmptyStr, validated_dataclass


class TextRow(NamedTuple):
    """One example of a task: a text, its label (or number) and the second text of a pair."""

    text: str
    label: str
    second_text: str | None = None


@validated_dataclass(kw_only=False)
class TableSource(LabelledFiles):
    """Rows with a label or a number, in tables with named columns: `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`. A `.csv` file has semicolons between its cells
    where its first line has some and no comma.

    Attributes:
        train: the table of training rows; a folder or a pattern stands for several, see `TextSource.path`.
        validation: the table of validation rows; None takes a tenth of the training rows.
        test: the table of test rows; None takes a tenth of the training rows.
        text: the column of the text.
        label: the column of the label: a string, or a finite number for `regression` and `embedding`.
        second_text: the column of the second text of pairs; None for single texts.
        task: the task of the labels: `classification` of names, `regression` of numbers, or `embedding` of pairs whose
            numbers are similarities.
        scale: for `embedding`, the label of two texts of the same meaning, above 0; labels are divided by it.
    """

    train: NonEmptyStr
    validation: str | None = None
    test: str | None = None
    text: NonEmptyStr = "text"
    label: NonEmptyStr = "label"
    second_text: str | None = None
    task: Literal["classification", "regression", "embedding"] = "classification"
    scale: pydantic.PositiveFloat = 1.0

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns, is_embedding = self._columns(), self.task == "embedding"
        different = len(set(columns)) == len(columns)
        check("TableSource", "text", different, "be another column than label and second_text", columns)
        has_pairs = not is_embedding or self.second_text is not None
        check("TableSource", "second_text", has_pairs, "be set for embedding", None)
        check("TableSource", "scale", is_embedding or self.scale == 1.0, "be left out but for embedding", self.scale)
        return self

    def check(self) -> None:
        """Raises InputError unless the tables can be read, have their columns and fit together, see `splits`."""
        self.splits()

    def splits(self) -> dict[str, list[TextRow]]:
        """The rows of each table that is given, by split.

        Raises:
            InputError: a table is missing, empty, not UTF-8 or without a named column; has fewer than two labels,
                or a validation or test label that training never saw; or, for a regression, what is no number, only
                one number in validation or test, or training numbers that `check_spread` refuses.
        """
        numbers = self.task != "classification"
        tables = {split: self._read_unscaled(path) for split, path in self.paths().items()}
        labels = {split: {row.label for row in rows} for split, rows in tables.items()}
        if self.task == "regression":
            check_spread([float(row.label) for row in tables["train"]], f"column {self.label!r} of {self.train}")
        if numbers:
            check_numbers({split: held_out for split, held_out in labels.items() if split != "train"})
        else:
            check_labels(labels, f"column {self.label!r} of {self.train}")
        return self._scaled(tables) if self.task == "embedding" else tables

    def read(self, path: str) -> list[TextRow]:
        """The rows of tables, with these settings; whether they have the same labels is not checked.

        Raises:
            InputError: see `read_table`; or a similarity is above `scale`.
        """
        tables = {path: self._read_unscaled(path)}
        return (self._scaled(tables) if self.task == "embedding" else tables)[path]

    def _read_unscaled(self, path: str) -> list[TextRow]:
        return read_table(path, self.text, self.label, self.second_text, numbers=self.task != "classification")

    def column_values(self, column: str, rows: Sequence[TextRow], split: str = "train") -> list[str]:
        """The value of a further column for each of some rows of a table; `(empty)` where a cell is.

        Args:
            column: the name of the column.
            rows: rows of `splits`, in any order.
            split: the split whose table they stand in; that of training where it has none of its own.

        Raises:
            InputError: the table has no such column, or a cell is neither text nor a number.
        """
        paths = self.paths()
        split = split if split in paths else "train"
        files = match_files(paths[split], RECORD_KINDS, what="the table")
        values = [_read_cell(record, column) for file in files for record in read_records(file, (column,))]
        return match_values(self.splits()[split], values, rows)

    def training_places(self) -> list[str]:
        """The file and the line or row of each training row of `splits`, as `reviews.csv line 3`."""
        return find_places(self.train, self.text)

    def training_columns(self) -> list[dict[str, str]]:
        """All columns of each training row of `splits` as texts; empty where a row has none."""
        rows = [row for file in match_files(self.train, RECORD_KINDS, what="the table") for row in read_rows(file)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return [{name: _as_cell(row.get(name)) for name in names} for row in rows]

    def record(self, row: TextRow) -> dict[str, str]:
        """The row under the names of this source's columns."""
        second = {} if self.second_text is None else {self.second_text: row.second_text or ""}
        return {self.text: row.text, self.label: row.label, **second}

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
            row without a text or label, or with a label that is no number or has a line end.
    """
    columns = (text, label) if second_text is None else (text, label, second_text)
    files = match_files(path, RECORD_KINDS, what="the table")
    rows = [_make_row(record, columns, numbers) for file in files for record in read_records(file, columns)]
    if not rows:
        raise InputError(f"the table {path} must hold at least one row, got none")
    return rows


def find_places(path: str, column: str) -> list[str]:
    """The file and the line or row of each row of tables, given the name of a column that they have."""
    return [
        f"{short_name(file, path)} {record.place}"
        for file in match_files(path, RECORD_KINDS, what="the table")
        for record in read_records(file, (column,))
    ]


def _read_cell(record: Record, column: str) -> str:
    (value,) = record.values
    if _is_nothing(value):
        return "(empty)"
    return as_text(value, record.where, column).strip() or "(empty)"


def _is_nothing(value: Any) -> bool:
    # None, or the NaN that pandas writes in its place.
    return value is None or value != value or isinstance(value, UnnamedClass)


def _as_cell(value: Any) -> str:
    if _is_nothing(value):
        return ""
    if isinstance(value, str | bytes):
        return repair(value)[0]
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def _make_row(record: Record, columns: tuple[str, ...], numbers: bool) -> TextRow:
    values = [as_text(value, record.where, column) for column, value in zip(columns, record.values, strict=True)]
    for column, value in zip(columns, values, strict=True):
        if not value.strip():
            raise InputError(f"{record.where}: column {column!r} must not be empty")
    label, place = values[1].strip(), f"{record.where}: column {columns[1]!r}"
    if not numbers:
        check_label(label, place)
    elif (rule := broken_float32_rule(parse_number(label))) is not None:
        raise InputError(f"{place} must {rule}, got {label!r}")
    return TextRow(values[0], label, values[2] if len(values) > 2 else None)


def parse_number(text: str) -> float:
    """The number that a text is; NaN for other texts.

    So is what Python alone reads as a number: `1_2`, and digits of other scripts.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
