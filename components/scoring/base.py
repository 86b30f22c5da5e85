"""How good the answers of a task are: its metrics over all rows, and a report of each class.

Shares are 0 to 1, correlations -1 to 1.
"""

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from components.dsl.errors import InputError
from components.scoring.mistakes import Mistakes

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.tasks.base import Task

R = TypeVar("R")

Report = dict[str, dict[str, float]]


class TaskScores(NamedTuple):
    """The scores on the rows of a split.

    Attributes:
        metrics: those of `TaskScoring.metrics`.
        report: of each class its precision, recall, f1 and support; of questions exact, f1 and support, for those that
            have an answer and those that have none; None where there is nothing to tell apart.
        confusion: of labels, rows are the true ones, columns the predicted ones; None for all other tasks.
    """

    metrics: dict[str, float]
    report: Report | None = None
    confusion: list[list[int]] | None = None


class Answered(NamedTuple):
    """What lies behind the labels that a task answers with.

    Attributes:
        logits: (rows, labels), in the order of the task's labels; a row is a text, or a word.
        truth: the true labels (rows,).
    """

    logits: "np.ndarray[Any, Any]"
    truth: list[str]


class TaskScoring(abc.ABC, Generic[R]):
    """What a task is measured by."""

    name: ClassVar[str]
    """A key of `keras_bert.TASKS`."""

    @abc.abstractmethod
    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The names of the metrics, the main one first; `labels` are empty where the task has none."""

    @abc.abstractmethod
    def ask(self, task: "Task", rows: Sequence[R]) -> list[Any]:
        """What a user gets who asks a task about each row."""

    def logits(self, task: "Task", rows: Sequence[R]) -> Answered | None:
        """What a task's labels are made of, and the true ones; None where answers are no labels."""
        return None

    @abc.abstractmethod
    def score(self, rows: Sequence[R], answers: Sequence[Any], labels: Sequence[str]) -> TaskScores:
        """The scores of answers against the rows' own."""

    @abc.abstractmethod
    def mistakes(self, rows: Sequence[R], answers: Sequence[Any], confidences: Sequence[float] | None) -> Mistakes:
        """The worst answers.

        Args:
            rows: that were asked about.
            answers: of `ask`.
            confidences: the probability of each answer, 0 to 1, where `logits` has a row for each of `rows`; or None.
        """

    def trivial(self, train: Sequence[R], test: Sequence[R]) -> tuple[str, list[Any]] | None:
        """The same answer to all test rows, by its name, which every model must beat; None where there is no such."""
        return None

    def baselines(self, train: Sequence[R], validation: Sequence[R], test: Sequence[R]) -> dict[str, list[Any]]:
        """What methods without a language model answer to the test rows, by their names.

        Args:
            train: to learn from.
            validation: to choose among variants by.
            test: to answer.
        """
        return {}


def choose_metric(wanted: str, scoring: TaskScoring[Any], labels: Sequence[str]) -> str:
    """The metric that was asked for, else the task's main one.

    Raises:
        InputError: the task has no such metric.
    """
    names = scoring.metrics(labels)
    if wanted and wanted not in names:
        kind = f"{scoring.name} with {len(labels)} labels" if labels else scoring.name
        raise InputError(f"metric must be one of {list(names)} for {kind}, got {wanted!r}")
    return wanted or names[0]
