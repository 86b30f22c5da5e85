"""The base class of a task's labelled rows: how they are split, stored and tokenized into records."""

import abc
import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from components.files.tables import Record
from components.sources.teacher_columns import TEACHER, AnyAnswer
from keras_bert.options.data import Prompts

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

R = TypeVar("R", bound=tuple[Any, ...])

# Rows that are tokenized together.
ROWS_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True)
class Encoding:
    """Tokenizer and settings that turn rows into records.

    Attributes:
        labels: the labels in the order of their numbers; empty for tasks without labels.
        stride: for questions, tokens from the start of one window of a context to the start of the next.
        max_query_length: for questions, the maximum number of tokens of a question.
        label_precision: for several labels, the precision that their thresholds have to reach; None for the best F1.
        prompts: for retrieval, the texts in front of queries and passages.
        cut: counts the inputs, texts or pairs, that were truncated (True) and those that were not.
        left_out: the indices of the rows without records: questions whose answer is in no window as a whole.
    """

    tokenizer: "BaseTokenizer"
    labels: Sequence[str]
    max_length: int
    stride: int
    max_query_length: int
    label_precision: float | None = None
    has_teacher_answers: bool = False
    prompts: Prompts = Prompts()
    cut: Counter[bool] = dataclasses.field(default_factory=Counter)
    left_out: list[int] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def label_numbers(self) -> dict[str, int]:
        """Label -> its number."""
        return {label: number for number, label in enumerate(self.labels)}


class TaskRows(abc.ABC, Generic[R]):
    """The rows of one task, as its source reads them."""

    name: ClassVar[str]
    """A key of `keras_bert.TASKS`."""

    fields: ClassVar[tuple[str, ...]]
    """The fields of a row in the files of TaskExamples."""

    plural_name: ClassVar[str]
    """The plural name of the rows' keys, for errors."""

    may_be_unlabelled: ClassVar[bool] = False
    """Whether a text without a label is a row that a teacher can label."""

    answers_numbers: ClassVar[bool] = False
    """Whether the answers of rows are numbers."""

    answers_by_word: ClassVar[bool] = False
    """Whether a teacher answers each word of a row."""

    long_rows: ClassVar[str] = "truncated"
    """What becomes of rows with more tokens than the model reads."""

    encodes_separately: ClassVar[bool] = False
    """Whether a model reads each text of a row by itself."""

    compares_batches: ClassVar[bool] = False
    """Whether the loss of a row depends on the other rows of its batch."""

    has_vectors: ClassVar[bool] = False
    """Whether a model makes one vector as wide as its states of each text."""

    imitates_states: ClassVar[bool] = True
    """Whether a student may learn the states and the attention of its teacher, token by token."""

    @abc.abstractmethod
    def parse(self, record: Record) -> R:
        """The row of a record with `fields`."""

    def as_fields(self, row: R) -> dict[str, Any]:
        """The record of a row, as JSON values."""
        fields, answer = dict(zip(self.fields, row, strict=False)), getattr(row, TEACHER, ())
        return {**fields, TEACHER: answer} if answer else fields

    def has_own_label(self, row: R) -> bool:
        """Whether the label of a row is not a teacher's."""
        answer: AnyAnswer = getattr(row, TEACHER, ())
        return not (answer and answer.is_label)

    def answer_shape(self, labels: Sequence[str]) -> list[int]:
        """The shape of a teacher's answer to a row, or to a word."""
        return [len(labels)]

    def teacher_features(self, row: R, encoding: Encoding) -> dict[str, Any]:
        """The features of a teacher's answer to a row, see `keras_bert.data.schemas`; empty if no row has an answer."""
        if not encoding.has_teacher_answers:
            return {}
        answer: AnyAnswer = getattr(row, TEACHER, ())
        size = math.prod(self.answer_shape(encoding.labels))
        return {
            "teacher_answers": np.array(answer.numbers if answer else [0.0] * size, np.float32),
            "has_answers": [int(bool(answer))],
            "has_label": [int(self.has_own_label(row))],
        }

    @abc.abstractmethod
    def key(self, row: R) -> tuple[str, ...]:
        """The texts of a row; no two splits may share all of them."""

    def texts(self, row: R) -> tuple[str, ...]:
        """The texts that a model reads; all rows have the same number of texts."""
        return self.key(row)

    def answer(self, row: R) -> str:
        """The answer in a row; rows with the same texts and different answers contradict each other."""
        return ""

    def stratum(self, row: R) -> str:
        """The group of a row, such as its label; every split gets a part of each group."""
        return ""

    def labels(self, source: Any, train: Sequence[R]) -> list[str]:
        """The labels in the order of their numbers; empty for tasks without labels.

        `train` are all training rows, before any are held out.
        """
        return []

    def check(self, splits: Mapping[str, Sequence[R]]) -> None:
        """Raises InputError if a model cannot learn from the rows, or cannot be scored on them."""

    def count_labels(self, rows: Iterable[R]) -> Counter[str] | None:
        """The number of occurrences of each label; None for tasks without labels."""
        return None

    def balanced_weights(self, counts: Sequence[int], rows: int) -> list[float]:
        """The weights of labels that balance their rows.

        `counts` are the numbers of training rows of each label.
        """
        from keras_bert.objectives.class_weights import balanced_class_weights

        return balanced_class_weights(counts)

    def settings(self, encoding: Encoding, train: Sequence[R]) -> dict[str, Any]:
        """The arguments of the task's `build` after encoder and tokenizer."""
        return {"max_length": encoding.max_length}

    def tuning_columns(self, rows: Sequence[R]) -> tuple[Any, ...]:
        """The arguments of `Task.tune` for rows of `Task.tuned_by`; only read if the task `tunes`."""
        return ()

    @abc.abstractmethod
    def records(self, rows: Sequence[R], encoding: Encoding) -> Iterator[bytes]:
        """The records of rows, one or several for each row, with the features of `keras_bert.data.schemas`."""


def serialize_padded(
    inputs: Mapping[str, Any], token_arrays: Mapping[str, Any], row_arrays: Mapping[str, Any]
) -> Iterator[bytes]:
    """Records of padded arrays without their padding.

    `inputs` and `token_arrays` are (rows, length, ...), and `row_arrays` (rows, ...).
    """
    from keras_bert.data.records import serialize

    columns = {"token_ids": inputs["token_ids"], "segment_ids": inputs["segment_ids"], **token_arrays}
    for number, length in enumerate(inputs["padding_mask"].sum(axis=1)):
        features = {name: values[number, :length] for name, values in columns.items()}
        features = {name: values if values.dtype.kind == "f" else values.tolist() for name, values in features.items()}
        of_row = {name: values[number].reshape(-1).tolist() for name, values in row_arrays.items()}
        yield serialize({**features, **of_row})


def row_batches(rows: Sequence[R]) -> Iterator[tuple[int, Sequence[R]]]:
    """The rows in batches of `ROWS_AT_ONCE`, each with the index of its first row."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield start, rows[start : start + ROWS_AT_ONCE]
