"""Rows with any number of labels: in a column of lists, in cells with a separator, or in one column for each label."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.tables import Record, as_text, read_table
from components.sources.shared import KeptColumns, NotedSplits, RowOrigin, check_label, check_labels
from components.sources.table import parse_number
from components.sources.teacher_columns import (
    AnyAnswer,
    FilesWithTeacherAnswers,
    TeacherAnswer,
    UnlabelledSource,
    read_logits,
)
from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, PositiveShare, validated_dataclass

# The values in a column of `label_columns`, as JSON, Parquet and text files write them.
_FLAGS: Mapping[Any, bool] = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
_DEFAULT_LABEL = "label"


class LabelSetRow(NamedTuple):
    """A text with its distinct labels in alphabetical order, the second text of a pair, and a teacher's answer."""

    text: str
    labels: tuple[str, ...]
    second_text: str | None = None
    teacher: AnyAnswer = ()
    origin: RowOrigin = RowOrigin()


@validated_dataclass(kw_only=False)
class LabelSetSource(FilesWithTeacherAnswers):
    """Rows with any number of labels, in tables with named columns, as `TableSource` reads them.

    A row with an empty list of labels is a labelled row to which no label applies. If there are teacher's answers, rows
    are unlabelled where the column of the labels is absent or null, or all `label_columns` are empty. They get the
    labels to which the teacher gives a probability of at least 0.5.

    Attributes:
        text: the column of the text.
        label: the column of the labels: lists of strings (`.jsonl`, `.parquet`, `.arrow`), or text with a separator.
        separator: the text between two labels of a cell; white space around labels is ignored.
        label_columns: instead of `label`, one column per label, named after it, with 0 or 1 (or false or true).
        second_text: the column of the second text of pairs; None for single texts.
        label_precision: the minimum precision of the labels on validation rows, above 0 and at most 1; if it cannot be
            reached, labels are never predicted. None takes the thresholds with the best micro F1.
        task: `multi_label`.
    """

    text: NonEmptyStr = "text"
    label: NonEmptyStr = _DEFAULT_LABEL
    separator: NonEmptyStr = ","
    label_columns: tuple[NonEmptyStr, ...] | None = None
    second_text: str | None = None
    label_precision: PositiveShare | None = None
    task: Literal["multi_label"] = "multi_label"

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns = self.columns()
        check("LabelSetSource", "text", len(set(columns)) == len(columns), "differ from all other columns", columns)
        if self.label_columns is not None:
            check("LabelSetSource", "label_columns", len(self.label_columns) > 1, "be at least 2", self.label_columns)
            for field, default in (("label", _DEFAULT_LABEL), ("separator", ",")):
                value = getattr(self, field)
                check("LabelSetSource", field, value == default, "be left out if label_columns is set", value)
        return self

    @property
    def label_unit(self) -> Literal["text"]:
        return "text"

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """See `LabelledFiles.splits`; each of `label_columns` must be 1 in a training row."""
        label_names, tables = list[str](), NotedSplits()
        for split, path in self.paths().items():
            of_train = split == "train"
            has_all = kept.all_of_train and of_train
            records = self._records(path, has_cells=has_all)
            if of_train and self.has_teacher_answers:
                records = list(records)
                label_names = self.answer_labels(records)
            tables[split] = self._parse(
                path, records, label_names, requires_separator=of_train, labels_optional=of_train, has_all=has_all
            )
        owner = f"columns {list(self.label_columns)}" if self.label_columns else f"column {self.label!r}"
        for column in self.label_columns or ():
            if not any(column in row.labels for row in tables["train"]):
                raise InputError(
                    f"column {column!r} of {self.train} must be 1 somewhere, got 0 in all rows; leave it out"
                )
        names = {split: self._label_names(rows) for split, rows in tables.items()}
        self.check_answer_labels(label_names, names["train"])
        check_labels(names, f"{owner} of {self.train}")
        return tables

    def read(self, path: str) -> list[LabelSetRow]:
        """The rows of tables without a teacher's answers; their labels are not compared. Raises as `splits`."""
        return self.make_rows(path, self._records(path))

    def label_order(self, labels: Collection[str]) -> list[str]:
        """See `FilesWithTeacherAnswers.label_order`; `label_columns` have their own order."""
        return list(self.label_columns or sorted(labels))

    def record(self, row: LabelSetRow) -> dict[str, Any]:
        """Converts a row to a record with this source's columns, which `read` reads from a `.jsonl` file."""
        second = {} if self.second_text is None else {self.second_text: row.second_text}
        if self.label_columns is None:
            return {self.text: row.text, **second, self.label: list(row.labels)}
        return {self.text: row.text, **second, **{label: int(label in row.labels) for label in self.label_columns}}

    def describe(self, splits: Mapping[str, Sequence[Any]]) -> list[str]:
        shared = set.intersection(*(set(row.labels) for row in splits["train"]))
        return [
            f"all training rows have the label {label!r}, which tells the model nothing" for label in sorted(shared)
        ]

    @staticmethod
    def _label_names(rows: Iterable[LabelSetRow]) -> set[str]:
        return {label for row in rows for label in row.labels}

    def columns(self) -> tuple[str, ...]:
        """The columns that are read: those of the texts, then those of the labels."""
        second = () if self.second_text is None else (self.second_text,)
        return (self.text, *second, *(self.label_columns or (self.label,)))

    def own_labels(self, record: Record) -> Collection[str]:
        if self.label_columns is not None:
            return self.label_columns
        value = record.cells.get(self.label)
        place = f"{record.where}: column {self.label!r}"
        return [] if value is None else _read_list(value, place, _CellSplitter(self.separator))

    def read_unlabelled(self, unlabelled: UnlabelledSource) -> list[LabelSetRow]:
        label_names = self.label_order(self._label_names(self.splits()["train"]))
        table = self.as_unlabelled(unlabelled)
        table = dataclasses.replace(table, label_columns=None, label=_DEFAULT_LABEL, separator=",")
        # Labels in the unlabelled table are ignored.
        records = (
            record._replace(cells={**record.cells, _DEFAULT_LABEL: None}) for record in table._records(table.train)
        )
        return table._parse(table.train, records, label_names)

    @property
    def _texts(self) -> int:
        return 1 if self.second_text is None else 2

    def _records(self, path: str, *, has_cells: bool = False) -> Iterable[Record]:
        """The records of a table; if rows may have a teacher's answer, the columns of the labels may be absent."""
        columns = self.columns()
        return read_table(
            path,
            columns[: self._texts] if self.has_teacher_answers else columns,
            has_cells=has_cells or self.has_teacher_answers,
        )

    def make_rows(self, path: str, records: Iterable[Record]) -> list[LabelSetRow]:
        """The rows of records with the values of `columns`; raises as `splits`."""
        return self._parse(path, records)

    def _parse(
        self,
        path: str,
        records: Iterable[Record],
        label_names: Sequence[str] = (),
        *,
        requires_separator: bool = False,
        labels_optional: bool = True,
        has_all: bool = False,
    ) -> list[LabelSetRow]:
        """See `make_rows`; with `labels_optional`, a row with a teacher's answer may have no labels of its own.

        With `requires_separator`, at least one cell must contain the separator. With `has_all`, rows keep all columns.
        """
        separated, columns, rows = _CellSplitter(self.separator), self.columns(), list[LabelSetRow]()
        texts = self._texts
        for record in records:
            cells, origin = record.values, RowOrigin.of(record, path, has_all=has_all)
            if self.has_teacher_answers:
                cells = (*cells, *(record.cells.get(column) for column in columns[texts:]))
            values = list(zip(columns, cells, strict=True))
            row_texts = [as_text(value, record.where, column, is_filled=True) for column, value in values[:texts]]
            second = row_texts[1] if texts == 2 else None
            logits, raw = None, self.raw_answer(record)
            if raw is not None:
                place = f"{record.where}: column {self.answer_column!r}"
                order = self.list_order(record, label_names)
                logits = read_logits(raw, label_names, place, order, log=self.log_probabilities, independent=True)
            # An empty text in `label_columns` is a missing value; in the column of labels it is an empty list.
            absent = (None,) if self.label_columns is None else (None, "")
            if logits is not None and labels_optional and all(value in absent for _, value in values[texts:]):
                names = [label for label, logit in zip(label_names, logits, strict=True) if logit >= 0]
                answer: AnyAnswer = TeacherAnswer(logits, is_label=True)
                rows.append(LabelSetRow(row_texts[0], tuple(names), second, answer, origin))
                continue
            places = ((f"{record.where}: column {column!r}", column, value) for column, value in values[texts:])
            if self.label_columns is None:
                labels = [label for place, _, value in places for label in _read_list(value, place, separated)]
            else:
                labels = [column for place, column, value in places if _read_flag(value, place)]
            answer = () if logits is None else TeacherAnswer(logits, is_label=False)
            rows.append(LabelSetRow(row_texts[0], tuple(sorted(set(labels))), second, answer, origin))
        if len(separated.flag_lengths) == 1 and (length := separated.flag_lengths.pop()):
            raise InputError(
                f"column {self.label!r} of {path} must hold the names of labels, got {length} numbers in every row, 0 "
                "or 1; write the names of those that are 1, or a column for each label and examples.label_columns"
            )
        if requires_separator and separated.is_in_no_cell:
            raise InputError(
                f"examples.separator must stand in column {self.label!r} of {path}, got {self.separator!r}, which is "
                f"in none of {separated.cells} cells; name the separator, or set examples.task to 'classification' if "
                "each row has one label"
            )
        return rows


@dataclasses.dataclass
class _CellSplitter:
    """Splits cells at the separator, and counts cells with and without it.

    `flag_lengths` has the lengths of lists with nothing but 0 and 1, and 0 for all other lists.
    """

    separator: str
    cells: int = 0
    separated: int = 0
    flag_lengths: set[int] = dataclasses.field(default_factory=set)

    @property
    def is_in_no_cell(self) -> bool:
        return self.cells > 0 and not self.separated

    def split(self, cell: str) -> list[str]:
        self.cells += 1
        self.separated += self.separator in cell
        return cell.split(self.separator)


def _read_list(value: Any, place: str, separated: _CellSplitter) -> list[str]:
    """The labels of a cell: a list, or text with a separator; empty for an empty list or a blank cell."""
    if value is None:
        raise InputError(f"{place} must be a list or text, got None; write an empty list for a row without labels")
    if isinstance(value, list):
        names = [as_text(name, place, "label").strip() for name in value]
    else:
        cell = as_text(value, place, "label").strip()
        if cell.startswith("[") and cell.endswith("]"):
            raise InputError(
                f"{place} must hold labels with {separated.separator!r} between them, got {cell[:40]!r}, a list that "
                "was written as text; write lists to .jsonl or .parquet, or join the labels"
            )
        names = [name.strip() for name in separated.split(cell)] if cell else []
    for name in names:
        check_label(name, f"{place}: the label")
    are_flags = len(names) > 1 and all(name.lower() in _FLAGS for name in names)
    if not are_flags and any("." in name for name in names) and all(0 <= parse_number(name) <= 1 for name in names):
        raise InputError(
            f"{place} must hold the names of labels, got the numbers {', '.join(names)[:40]}; set "
            "examples.probabilities to the column if they are a teacher's probabilities"
        )
    if names:
        separated.flag_lengths.add(len(names) if are_flags else 0)
    return names


def _read_flag(value: Any, place: str) -> bool:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    flag = _FLAGS.get(text.strip().lower())
    if flag is None:
        raise InputError(
            f"{place} must be 0 or 1, got {text[:40]!r}; write 1 for a row that has the label, 0 for one without"
        )
    return flag
