"""Labelled rows of a task: how they are split, kept and turned into records."""

import abc
import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from components.files.record_files import Record

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

R = TypeVar("R", bound=tuple[Any, ...])

# Rows that are tokenized together.
ROWS_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True)
class Encoding:
    """What turns rows into records.

    Attributes:
        tokenizer: of the model.
        labels: what a label's number is a place in; none where the task has none.
        max_length: the most tokens of a record.
        stride: for questions, pieces of a context from one window to the next.
        max_query_length: for questions, the most pieces of one.
        cut: counts the texts, or pairs where these are one input, that were too long for a record and lost their end.
    """

    tokenizer: "BaseTokenizer"
    labels: Sequence[str]
    max_length: int
    stride: int
    max_query_length: int
    cut: Counter[bool] = dataclasses.field(default_factory=Counter)


class TaskRows(abc.ABC, Generic[R]):
    """The rows of one task, as its source reads them."""

    name: ClassVar[str]
    """A key of `keras_bert.TASKS`."""

    fields: ClassVar[tuple[str, ...]]
    """What a row is made of in the files of TaskExamples, which the task's own source reads, too."""

    several: ClassVar[str]
    """What the keys of rows are, in the plural, for errors."""

    @abc.abstractmethod
    def parse(self, record: Record) -> R:
        """The row of a record with `fields`."""

    def as_fields(self, row: R) -> dict[str, Any]:
        """The record of a row, as JSON values."""
        return dict(zip(self.fields, row, strict=True))

    @abc.abstractmethod
    def key(self, row: R) -> tuple[str, ...]:
        """The texts that, all together, no two splits may share."""

    def stratum(self, row: R) -> str:
        """The group of rows that every split gets its part of; one for all unless there are labels."""
        return ""

    def labels(self, source: Any, train: Sequence[R]) -> list[str]:
        """The names that the numbers of labels stand for; none where the task has none.

        Args:
            source: of the rows.
            train: all rows that are there for training, before any are held out.
        """
        return []

    def check(self, splits: Mapping[str, Sequence[R]]) -> None:
        """Raises InputError where nothing can be learnt from rows, or measured on them."""

    def count_labels(self, rows: Iterable[R]) -> Counter[str] | None:
        """How often each label occurs; None where the task has none."""
        return None

    def settings(self, encoding: Encoding, train: Sequence[R]) -> dict[str, Any]:
        """What the task's `build` takes besides encoder and tokenizer."""
        return {"max_length": encoding.max_length}

    @abc.abstractmethod
    def records(self, rows: Sequence[R], encoding: Encoding) -> Iterator[bytes]:
        """The records of rows, one or several each, with the features that `keras_bert.data.schemas` names."""


def serialize_padded(inputs: Mapping[str, Any], along: Mapping[str, Any], beside: Mapping[str, Any]) -> Iterator[bytes]:
    """Records of padded arrays.

    Args:
        inputs: the model's.
        along: further ones as long as the tokens.
        beside: those that are not.
    """
    from keras_bert.data.records import serialize

    columns = {"token_ids": inputs["token_ids"], "segment_ids": inputs["segment_ids"], **along}
    for number, length in enumerate(inputs["padding_mask"].sum(axis=1)):
        features = {name: values[number, :length].tolist() for name, values in columns.items()}
        yield serialize({**features, **{name: values[number].reshape(-1).tolist() for name, values in beside.items()}})


def parts(rows: Sequence[R]) -> Iterator[tuple[int, Sequence[R]]]:
    """The rows in portions, each with the number of its first."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield start, rows[start : start + ROWS_AT_ONCE]
