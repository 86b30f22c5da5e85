"""Columns with a teacher's answers to rows: probabilities of their labels, or scores."""

import dataclasses
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError, nearest
from components.files.tables import Record
from components.sources.shared import LabelledFiles
from components.sources.text import TextSource
from keras_bert.core.checks import broken_float32_rule, check
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

# The field of a teacher's answer in the files of TaskExamples.
TEACHER = "teacher"
# Written probabilities are rounded; their sum may differ from 1 by two hundredths, and as much as floats do.
_ROUNDING = 0.02 + 1e-9
# A probability of 0 has no logit.
_LEAST = 1e-6


class TeacherAnswer(NamedTuple):
    """A teacher's answer to a row.

    Attributes:
        numbers: the outputs of `TaskObjective.run`, flat: logits in the order of the labels, of each word for tags; a
            number; for retrieval the scores of the row's passages and negatives, NaN for none.
        is_label: whether the row has no label of its own, so that its label is the teacher's.
    """

    numbers: tuple[float, ...]
    is_label: bool


# The answer of a row that has none is empty, so that rows can be sorted.
AnyAnswer = TeacherAnswer | tuple[()]


def stored_answer(record: Record) -> AnyAnswer:
    """The answer in a record of the files of TaskExamples."""
    value = record.cells.get(TEACHER)
    return TeacherAnswer(tuple(value[0]), value[1]) if value else ()


@validated_dataclass
class TeacherColumns:
    """The columns of a table that hold a teacher's answers.

    Attributes:
        probabilities: the column of a teacher's answers: the probabilities of the labels, as an object label ->
            probability or as a list, in text files as JSON; for tags a list of these, one for
            each word; for numbers the teacher's number; for retrieval its scores of the passages and negatives of the
            row. Training rows may lack an answer, or the label; each row trains with what it has.
        probability_columns: instead of `probabilities`, a column for each label, named as the label or in the order of
            a list.
        labels: the labels in the order of the numbers of a list. Where it is empty, the order is that of
            `label_columns`, else that of the names that `datasets` stored in the Parquet or Arrow file (`ClassLabel`).
        log_probabilities: whether the answers are natural logarithms of probabilities, which need not add up to 1.
    """

    probabilities: NonEmptyStr | None = dataclasses.field(default=None, kw_only=True)
    probability_columns: tuple[NonEmptyStr, ...] = dataclasses.field(default=(), kw_only=True)
    labels: tuple[NonEmptyStr, ...] = dataclasses.field(default=(), kw_only=True)
    log_probabilities: bool = dataclasses.field(default=False, kw_only=True)

    @pydantic.model_validator(mode="after")
    def _check_probabilities(self) -> Self:
        owner, columns = type(self).__name__, self.probability_columns
        single = self.probabilities is None or not columns
        check(owner, "probability_columns", single, "be left out beside probabilities", columns)
        for field in ("labels", "log_probabilities"):
            value = getattr(self, field)
            needed = self.has_teacher_answers or not value
            check(owner, field, needed, "be left out where there are no probabilities", value)
        return self

    @property
    def has_teacher_answers(self) -> bool:
        """Whether rows may have a teacher's answers."""
        return self.probabilities is not None or bool(self.probability_columns)

    @property
    def answer_column(self) -> str:
        """The name of the column, or of the first of several."""
        return self.probabilities or next(iter(self.probability_columns), "")

    def raw_answer(self, record: Record) -> Any:
        """The values in the columns of the answer; None where the row has none, or there are no such columns."""
        if self.probabilities is not None:
            return _read_cell(record, self.probabilities)
        values = [_read_cell(record, column) for column in self.probability_columns]
        return None if all(value is None for value in values) else values


@validated_dataclass(kw_only=False)
class UnlabelledSource(TextSource, TeacherColumns):
    """Text without labels, see `TextSource`; the rows of tables may have a teacher's answers."""


@validated_dataclass(kw_only=False)
class FilesWithTeacherAnswers(LabelledFiles, TeacherColumns):
    """Labelled files whose rows may have a teacher's answer, in addition to a label or instead of one."""

    @pydantic.model_validator(mode="after")
    def _check_kind(self) -> Self:
        owner, columns, task = type(self).__name__, self.probability_columns, getattr(self, "task", "")
        has_columns = not columns or self.label_unit == "text"
        check(owner, "probability_columns", has_columns, f"be left out for {task}; set probabilities", columns)
        for field in ("labels", "log_probabilities"):
            value = getattr(self, field)
            of_labels = not value or self.label_unit is not None
            check(owner, field, of_labels, f"be left out for {task}, which has no labels", value)
        return self

    @property
    def label_unit(self) -> Literal["text", "word"] | None:
        """What a label of the rows is for; None for rows with numbers, answers or passages."""
        return None

    def read_unlabelled(self, unlabelled: UnlabelledSource) -> list[Any]:
        """The rows of a table without labels, whose labels are a teacher's answers."""
        raise NotImplementedError

    def as_unlabelled(self, unlabelled: UnlabelledSource) -> Self:
        """These settings for a table without labels."""
        names = (field.name for field in dataclasses.fields(TeacherColumns))
        changes: dict[str, Any] = {name: getattr(unlabelled, name) for name in names}
        changes |= {"train": unlabelled.path, "validation": None, "test": None, "text": unlabelled.text}
        changes["labels"] = unlabelled.labels or self.labels or getattr(self, "label_columns", None) or ()
        return dataclasses.replace(self, **changes)

    def label_order(self, labels: Collection[str]) -> list[str]:
        """The labels in the order of a model's outputs and of its teacher's answers."""
        return sorted(labels)

    def list_order(self, record: Record, labels: Collection[str]) -> Sequence[str]:
        """The labels in the order of a list of probabilities; empty if nothing names it."""
        if {*self.probability_columns} == {*labels}:
            return self.probability_columns
        column = getattr(self, "tags", getattr(self, "label", ""))
        return self.labels or getattr(self, "label_columns", None) or record.classes.get(column, ())

    def own_labels(self, record: Record) -> Collection[str]:
        """The labels of a row; none where it has no label of its own."""
        raise NotImplementedError

    def answer_labels(self, records: Iterable[Record]) -> list[str]:
        """The labels of the training rows in their order, of the records with all cells.

        If no row has a label, these are the names in the teacher's answers, or `labels`.
        """
        labels, named, columns, answers = set[str](), set[str](), set[str](), 0
        for record in records:
            labels.update(self.own_labels(record))
            raw = self.raw_answer(record)
            answers += raw is not None
            for part in raw if isinstance(raw, list) else [raw]:
                named.update(part if isinstance(part, dict) else ())
            columns.update(record.cells)
        if not answers:
            column = self.answer_column
            hint = "" if column in columns else nearest(column, columns)
            raise InputError(
                f"column {column!r} of {self.train} must hold a teacher's answer in at least one row, got none{hint}"
            )
        return self.label_order(labels or named or self.labels)

    def check_answer_labels(self, label_names: Collection[str], labels: Collection[str]) -> None:
        """Raises InputError if a label is never that of a training row, nor a teacher's most likely one."""
        for label in sorted(set(label_names).difference(labels)):
            raise InputError(
                f"the label {label!r} must be that of a training row, or the likeliest one in column "
                f"{self.answer_column!r}, got neither; add such a row or leave the label out"
            )


def _read_cell(record: Record, column: str) -> Any:
    """The value of a cell, parsed where it is text; None for an empty one."""
    value = record.cells.get(column)
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(text, str):
        try:
            value = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise InputError(
                f"{record.where}: column {column!r} must be a number, a list or an object as JSON, got {text[:40]!r}"
            ) from None
    return None if isinstance(value, float) and math.isnan(value) else value


def is_missing(value: Any) -> bool:
    """Whether a cell of labels holds nothing: null, NaN or blank text."""
    return value is None or value != value or (isinstance(value, str | bytes) and not value.strip())


def read_logits(
    value: Any,
    labels: Sequence[str],
    place: str,
    order: Sequence[str] = (),
    *,
    log: bool = False,
    independent: bool = False,
) -> tuple[float, ...]:
    """The logits of labels from their probabilities, or from logarithms of these.

    `value` is a list in the given order, which is empty if nothing names it, or an object label -> probability, in
    which absent labels have the probability 0. With `log` the values are natural logarithms, and are divided by the sum
    of the probabilities. `independent` probabilities need not add up to 1, and none may be absent.
    """
    is_list = isinstance(value, list | tuple)
    if is_list:
        if not order:
            raise InputError(
                f"{place} must be an object label -> probability, as nothing names the order of a list, got "
                f"{str(value)[:40]}; write objects, or set labels to the labels in the order of the list"
            )
        if len(value) != len(order):
            names = f"{len(order)} labels in their order, {str(list(order))[:60]}"
            raise InputError(f"{place} must hold a probability of each of {names}, got {len(value)} numbers")
        value = dict(zip(order, value, strict=True))
    elif isinstance(value, dict):
        value = {name: number for name, number in value.items() if number is not None}
    else:
        raise InputError(f"{place} must be a list or an object label -> probability, got {str(value)[:40]}")
    for name in value:
        if name not in labels:
            raise InputError(f"{place} has {name!r}, which is no label of the training rows{nearest(name, labels)}")
    if (independent or is_list) and len(value) < len(labels):
        absent = next(label for label in labels if label not in value)
        raise InputError(f"{place} must hold a probability of each label, got none of {absent!r}")
    value = [value.get(label, -math.inf if log else 0.0) for label in labels]
    rule = "be a logarithm of a probability, at most 0" if log else "be a probability, 0 to 1"
    for label, number in zip(labels, value, strict=True):
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not (is_number and (number <= 0 if log else 0 <= number <= 1)):
            hint = "; set log_probabilities = true for logarithms" if is_number and number < 0 else ""
            raise InputError(f"{place}: the number of {label!r} must {rule}, got {number!r}{hint}")
    shares = [math.exp(number) for number in value] if log else [float(number) for number in value]
    if independent:
        limited = [min(max(share, _LEAST), 1 - _LEAST) for share in shares]
        return tuple(round(math.log(share / (1 - share)), 5) for share in limited)
    total = sum(shares)
    if not (0 < total <= 1 + _ROUNDING if log else abs(total - 1) <= _ROUNDING):
        rule = "add up to more than 0 and at most 1" if log else "add up to 1, give or take 0.02"
        raise InputError(f"{place}: the probabilities must {rule}, got {total:.4g}")
    return tuple(round(math.log(max(share / total, _LEAST)), 5) for share in shares)


def most_likely_label(logits: Sequence[float], labels: Sequence[str]) -> str:
    """The label with the largest logit; the first of equal ones."""
    return labels[max(range(len(labels)), key=lambda number: logits[number])]


def read_score(value: Any, place: str) -> float:
    """A finite number; raises InputError for anything else."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if (rule := broken_float32_rule(number)) is not None:
        raise InputError(f"{place} must {rule}, got {str(value)[:40]}")
    return number


def describe_agreement(agreements: Mapping[str, Sequence[bool]], labels: Sequence[str]) -> list[str]:
    """A line for each split with rows that have a label and an answer: how many agree, and if fewer than by chance."""
    doubt = "; chance agrees more often, so check the order of lists, or of `labels`"
    return [
        f"the teacher's likeliest label is that of the row in {sum(agree)} of {len(agree)} {split} rows that have both"
        + (doubt if sum(agree) * len(labels) < len(agree) else "")
        for split, agree in agreements.items()
        if agree
    ]
