"""Labelled rows from tables with named columns: texts or pairs, with labels or numbers."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError, nearest
from components.files.tables import Record, as_text, read_table
from components.sources.shared import (
    KeptColumns,
    NotedSplits,
    RowOrigin,
    check_label,
    check_labels,
    check_numbers,
    check_spread,
)
from components.sources.teacher_columns import (
    AnyAnswer,
    FilesWithTeacherAnswers,
    TeacherAnswer,
    UnlabelledSource,
    describe_agreement,
    is_missing,
    most_likely_label,
    read_logits,
    read_score,
)
from keras_bert.core.checks import broken_float32_rule, check
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

# Tasks whose rows are pairs of texts, and tasks whose labels are numbers.
_PAIR_TASKS = ("embedding", "reranking")
_NUMERIC_TASKS = ("regression", *_PAIR_TASKS)


class TextRow(NamedTuple):
    """One example of a task: a text, its label (or number), the second text of a pair, and a teacher's answer."""

    text: str
    label: str
    second_text: str | None = None
    teacher: AnyAnswer = ()
    origin: RowOrigin = RowOrigin()


@validated_dataclass(kw_only=False)
class TableSource(FilesWithTeacherAnswers):
    """Rows with a label or a number, in tables with named columns: `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`.

    Text formats may be compressed: `.gz`, `.bz2`, `.zst`. A `.csv` file is read with semicolons if its
    first line has semicolons but no comma.

    Attributes:
        text: the column of the text.
        label: the column of the label: a string for `classification`, otherwise a finite number.
        second_text: the column of the second text of pairs; None for single texts.
        task: the task of the labels: `classification` of names, `regression` of numbers, `embedding` of pairs whose
            numbers are similarities, or `reranking` of queries and passages whose numbers are relevances.
        scale: for `embedding`, the label of two texts of the same meaning, above 0; labels are divided by it.
    """

    text: NonEmptyStr = "text"
    label: NonEmptyStr = "label"
    second_text: str | None = None
    task: Literal["classification", "regression", "embedding", "reranking"] = "classification"
    scale: pydantic.PositiveFloat = 1.0

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns, is_embedding = self.columns(), self.task == "embedding"
        different = len(set(columns)) == len(columns)
        check("TableSource", "text", different, "be another column than label and second_text", columns)
        has_pairs = self.task not in _PAIR_TASKS or self.second_text is not None
        check("TableSource", "second_text", has_pairs, f"be set for {self.task}", None)
        check("TableSource", "scale", is_embedding or self.scale == 1.0, "be 1 unless task is embedding", self.scale)
        return self

    @property
    def label_unit(self) -> Literal["text"] | None:
        return None if self.task in _NUMERIC_TASKS else "text"

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """See `LabelledFiles.splits`, and `check_spread` and `check_numbers` for the numbers of a regression."""
        label_names, tables = list[str](), NotedSplits()
        for split, path in self.paths().items():
            columns = kept.test if self.has_test_rows(split) else ()
            has_all = kept.all_of_train and split == "train"
            records = self._records(path, columns, has_cells=has_all)
            if split == "train" and self.has_teacher_answers:
                records = list(records)
                label_names = self.answer_labels(records)
            origins = partial(RowOrigin.of, path=path, columns=columns, has_all=has_all)
            tables[split] = self._parse(records, origins, label_names, labels="some" if split == "train" else "all")
        labels = {split: {row.label for row in rows} for split, rows in tables.items()}
        owner = f"column {self.label!r} of {self.train}"
        if self.label_unit is not None:
            self.check_answer_labels(label_names, labels["train"])
            check_labels(labels, owner)
            agreements = {
                split: [
                    most_likely_label(row.teacher.numbers, label_names) == row.label
                    for row in rows
                    if row.teacher and not row.teacher.is_label
                ]
                for split, rows in tables.items()
            }
            tables.notes = describe_agreement(agreements, label_names)
            return tables
        if self.task == "regression":
            check_spread([float(row.label) for row in tables["train"]], owner)
        check_numbers({split: held_out for split, held_out in labels.items() if split != "train"})
        return NotedSplits({split: self._scale(rows, split) for split, rows in tables.items()})

    def read(self, path: str) -> list[TextRow]:
        """The rows of tables without a teacher's answers; their labels are not compared. Raises as `splits`."""
        return self.make_rows(path, self._records(path))

    def make_rows(self, path: str, records: Iterable[Record]) -> list[TextRow]:
        """The rows of records with the values of `columns`; raises as `read`."""
        return self._scale(self._parse(records, partial(RowOrigin.of, path=path)), path)

    def record(self, row: TextRow) -> dict[str, str]:
        """Converts a row to a record with this source's columns."""
        second = {} if self.second_text is None else {self.second_text: row.second_text or ""}
        return {self.text: row.text, self.label: row.label, **second}

    def _scale(self, rows: list[TextRow], split: str) -> list[TextRow]:
        """Scales the labels of `embedding` to cosines; other tasks keep theirs."""
        if self.task != "embedding":
            return rows
        for row in rows:
            for name, number in (
                ("label", float(row.label)),
                ("teacher's number", sum(row.teacher and row.teacher[0])),
            ):
                if abs(number) > self.scale:
                    rule = f"be at most examples.scale, {self.scale:g}"
                    raise InputError(f"{split}: the {name} of {row.text[:40]!r} must {rule}, got {number:g}")
        return [
            row._replace(
                label=str(float(row.label) / self.scale),
                teacher=row.teacher and row.teacher._replace(numbers=(row.teacher.numbers[0] / self.scale,)),
            )
            for row in rows
        ]

    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.text, self.label) if self.second_text is None else (self.text, self.label, self.second_text)

    def _required_columns(self) -> tuple[str, ...]:
        """The columns that each row has; a row with a teacher's answer may have no label."""
        return tuple(column for column in self.columns() if column != self.label or not self.has_teacher_answers)

    def _records(self, path: str, columns: Sequence[str] = (), *, has_cells: bool = False) -> Iterable[Record]:
        return read_table(path, (*self._required_columns(), *columns), has_cells=has_cells or self.has_teacher_answers)

    def own_labels(self, record: Record) -> Collection[str]:
        label = record.cells.get(self.label)
        is_name = self.label_unit is not None and not is_missing(label)
        return [as_text(label, record.where, self.label).strip()] if is_name else []

    def read_unlabelled(self, unlabelled: UnlabelledSource) -> list[TextRow]:
        label_names = self.label_order({row.label for row in self.splits()["train"]})
        table, path = self.as_unlabelled(unlabelled), unlabelled.path
        rows = table._parse(table._records(path), partial(RowOrigin.of, path=path), label_names, labels="none")
        return table._scale(rows, path)

    def _parse(
        self,
        records: Iterable[Record],
        origin: Callable[[Record], RowOrigin],
        label_names: Sequence[str] = (),
        *,
        labels: Literal["all", "some", "none"] = "some",
    ) -> list[TextRow]:
        """The rows of records. A row without a label of its own has the teacher's.

        `labels` says which rows have one of their own: `all`, `some` (the others have a teacher's answer) or `none`.
        """
        columns, rows = self._required_columns(), list[TextRow]()
        for record in records:
            where, values = record.where, dict(zip(columns, record.values, strict=False))
            texts = [column for column in (self.text, self.second_text) if column is not None]
            text, *second = (as_text(values[column], where, column, is_filled=True) for column in texts)
            numbers = self._read_answer(record, label_names)
            cell = record.cells.get(self.label) if self.has_teacher_answers else values[self.label]
            has_own_label = labels != "none" and not (
                self.has_teacher_answers and labels == "some" and is_missing(cell)
            )
            if has_own_label:
                label = as_text(cell, where, self.label, is_filled=True).strip()
            elif numbers is None:
                if labels == "none":
                    column = self.answer_column
                    hint = "" if column in record.cells else nearest(column, record.cells)
                    raise InputError(f"{where}: column {column!r} must hold a teacher's answer, got none{hint}")
                columns_of_both = f"a label in column {self.label!r} or a teacher's answer in {self.answer_column!r}"
                raise InputError(f"{where}: the row must have {columns_of_both}, got neither")
            else:
                label = most_likely_label(numbers, label_names) if self.label_unit is not None else str(numbers[0])
            if self.label_unit is not None:
                check_label(label, f"{where}: column {self.label!r}")
            elif (rule := broken_float32_rule(parse_number(label))) is not None:
                raise InputError(f"{where}: column {self.label!r} must {rule}, got {label!r}")
            answer: AnyAnswer = () if numbers is None else TeacherAnswer(numbers, is_label=not has_own_label)
            rows.append(TextRow(text, label, second[0] if second else None, answer, origin(record)))
        return rows

    def _read_answer(self, record: Record, label_names: Sequence[str]) -> tuple[float, ...] | None:
        raw = self.raw_answer(record)
        if raw is None:
            return None
        place = f"{record.where}: column {self.answer_column!r}"
        if self.label_unit is not None:
            order = self.list_order(record, label_names)
            return read_logits(raw, label_names, place, order, log=self.log_probabilities)
        return (read_score(raw, place),)


def parse_number(text: str) -> float:
    """Parses a number; NaN for other texts.

    Numbers that only Python accepts are also NaN: `1_2`, and digits of other scripts.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
