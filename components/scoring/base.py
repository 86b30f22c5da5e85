"""The base class of a task's scoring: metrics over all rows, a report of each class, baselines and mistakes.

Shares are 0 to 1, correlations -1 to 1; errors of numbers are in the unit of the labels.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from components.dsl.errors import InputError
from components.examples.texts import split_texts
from components.scoring.mistakes import Mistake, Mistakes
from components.scoring.row_statistics import Measure

if TYPE_CHECKING:
    from components.sources.table import TextRow
    from keras_bert.tasks.base import Task

R = TypeVar("R")

Report = dict[str, dict[str, float]]

# Name of a method -> function that returns its answers to the test rows.
Baselines = dict[str, Callable[[], list[Any]]]

# Errors of numbers, in the unit of the labels; smaller is better.
IN_LABEL_UNITS = ("rmse", "mae")


class TaskScores(NamedTuple):
    """The scores on the rows of a split.

    Attributes:
        metrics: the scores of `TaskScoring.metrics`, and of `IN_LABEL_UNITS` where answers are numbers.
        report: precision, recall, f1 and support of each class; for question answering, exact, f1 and support of the
            questions with and of the questions without an answer; None for tasks without classes.
        confusion: the confusion matrix of labels, a row for each true label; None for other tasks.
    """

    metrics: dict[str, float]
    report: Report | None = None
    confusion: list[list[int]] | None = None


class LabelLogits(NamedTuple):
    """The logits of a task's decisions, and the true labels; a decision is for a text, a word, or a label of a text.

    Attributes:
        logits: logits in the order of `TaskScoring.classes` (decisions, classes).
        truth: the true classes (decisions,).
        rows: the row of each decision, from 0 (decisions,), ascending.
        places: the index of each decision in its row: 0, or the index of the word or of the label (decisions,).
    """

    logits: np.ndarray[Any, Any]
    truth: list[str]
    rows: np.ndarray[Any, Any]
    places: np.ndarray[Any, Any]


class TaskScoring(abc.ABC, Generic[R]):
    """The scoring of one task."""

    name: ClassVar[str]
    """A key of `keras_bert.TASKS`."""

    model_kind: ClassVar[str]
    """The model in a few words, for the first line of the card: "BERT classifier of texts"."""

    pipeline_tag: ClassVar[str] = "text-classification"
    """The hub's name of the task."""

    output: ClassVar[str]
    """The output of the files in Markdown, for the card; `{labels}` stands for the number of labels."""

    has_probabilities: ClassVar[bool] = False
    """Whether answers are labels, so that `logits` gives their probabilities and they can be calibrated."""

    has_confidences: ClassVar[bool] = True
    """Whether one threshold suits the probabilities of all answers; False where each label has a threshold."""

    decides_by_label: ClassVar[bool] = False
    """Whether `logits` has a decision for each label; then `LabelLogits.places` are the indices of the labels."""

    has_variants: ClassVar[bool] = False
    """Whether `variants` returns answers, which may take as long as `answer`."""

    @abc.abstractmethod
    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The names of the metrics, the main one first; `labels` are empty where the task has none."""

    @abc.abstractmethod
    def answer(self, task: "Task", rows: Sequence[R]) -> list[Any]:
        """The task's answer to each row, in the form that `score` takes."""

    def texts(self, rows: Sequence[R]) -> tuple[list[str], list[str] | None]:
        """The text of each row, or its question, and the second texts, or contexts; None where rows have one text."""
        return split_texts(cast("Sequence[TextRow]", rows))

    def logits(self, task: "Task", rows: Sequence[R]) -> LabelLogits:
        """The logits behind the labels that a task answers with, and the true labels."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities")

    def classes(self, labels: Sequence[str]) -> Sequence[str]:
        """The names of the columns of `logits`: the labels, in their order."""
        return labels

    def relabel(self, row: R, classes: Mapping[int, str], labels: Sequence[str]) -> R:
        """The row with other labels.

        `classes` has the new classes by their index in the row, see `LabelLogits.places`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no probabilities")

    def compare_labels(self, row: R, other: R, value: float | None) -> Mistake:
        """Compares a row with the same row with other labels, for display; `value` becomes the value of the mistake."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities")

    @abc.abstractmethod
    def score(self, rows: Sequence[R], answers: Sequence[Any], labels: Sequence[str]) -> TaskScores:
        """The scores of answers against the labels of the rows."""

    @abc.abstractmethod
    def mistakes(self, rows: Sequence[R], answers: Sequence[Any], confidences: Sequence[float] | None) -> Mistakes:
        """The worst answers.

        `confidences` are the probabilities of the answers, 0 to 1; None where `logits` has no row for each of `rows`.
        """

    def defines(self, metric: str, rows: Sequence[R]) -> bool:
        """Whether the metric says anything about answers to these rows."""
        return True

    def count_units(self, rows: Sequence[R]) -> int:
        """The number of independent parts of the rows, which `sample_measure` draws: rows, or lists of them."""
        return len(rows)

    def sample_measure(
        self, metric: str, rows: Sequence[R], answers: Sequence[Any], labels: Sequence[str]
    ) -> Measure | None:
        """The function that scores samples of the rows all at once, mostly a `RowStatistics`.

        None if no such function exists, as for a correlation of ranks. Samples are then scored one by one, which is
        slow.
        """
        return None

    def variants(self, task: "Task", rows: Sequence[R], answers: Sequence[Any]) -> dict[str, list[Any]]:
        """Answers that other uses of a task's outputs give: name of the use -> an answer to each row.

        `answers` are those of `answer`.
        """
        return {}

    def given_answers(self, rows: Sequence[R], labels: Sequence[str]) -> list[Any] | None:
        """The answers of a teacher in the user's data, in the form that `score` takes; None if there are none."""
        return None

    def trivial(self, train: Sequence[R], test: Sequence[R]) -> tuple[str, list[Any]] | None:
        """The name of the trivial answers, and the answers: every model must beat them, they read no row; or None."""
        return None

    def baselines(self, train: Sequence[R], validation: Sequence[R], test: Sequence[R]) -> Baselines:
        """Methods without a language model: name -> function that returns the answers to the test rows.

        A function learns from the rows of `train`, and chooses a variant by the rows of `validation`. It raises
        ValueError if it cannot learn, for example from words that are all too short.
        """
        return {}


def check_test_rows(
    scoring: TaskScoring[R], metric: str, train: Sequence[R], test: Sequence[R], labels: Sequence[str]
) -> None:
    """Checks that a model can be better than the task's trivial answer."""
    trivial = scoring.trivial(train, test)
    measure = None if trivial is None else scoring.sample_measure(metric, test, trivial[1], labels)
    if trivial is None or measure is None:
        return
    score = float(measure(np.ones((1, scoring.count_units(test)), int))[0])
    if not score < 1:
        reason = f"{metric} is undefined" if np.isnan(score) else f"the {trivial[0]} has {metric} 100.00 already"
        raise InputError(
            f"the {len(test)} test rows must tell models apart, but on them {reason}, and a file must be above the "
            f"{trivial[0]} to be pushed; add test rows with other answers"
        )


def choose_metric(metric: str, scoring: TaskScoring[Any], labels: Sequence[str]) -> str:
    """The requested metric, or the task's main one if it is empty."""
    names = scoring.metrics(labels)
    if metric and metric not in names:
        kind = f"{scoring.name} with {len(labels)} labels" if labels else scoring.name
        raise InputError(f"metric must be one of {list(names)} for {kind}, got {metric!r}")
    return metric or names[0]
