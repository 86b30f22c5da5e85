"""Scoring of `classification`: accuracy, macro F1 and Matthews' correlation."""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.examples.texts import split_texts
from components.scoring.base import Baselines, LabelLogits, TaskScores, TaskScoring
from components.scoring.baselines import COSINE, NGRAMS, classify_by_cosine, classify_by_ngrams
from components.scoring.mistakes import Mistake, Mistakes, displayed_texts, worst_first
from components.scoring.row_statistics import RowStatistics, label_statistics
from components.sources.table import TextRow
from components.sources.teacher_columns import most_likely_label

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

OF_LABELS = ("accuracy", "macro_f1")


class ClassificationScoring(TaskScoring[TextRow]):
    """Accuracy and macro F1; for two labels also Matthews' correlation."""

    name = "classification"
    model_kind = "BERT classifier of texts"
    output = "`logits`: float32 (batch, {labels}), one for each label"
    has_probabilities = True

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return (*OF_LABELS, "mcc") if len(labels) == 2 else OF_LABELS

    def answer(self, task: "Task", rows: Sequence[TextRow]) -> list[str]:
        return [prediction.label for prediction in task.predict(*split_texts(rows))]

    def logits(self, task: "Task", rows: Sequence[TextRow]) -> LabelLogits:
        logits, numbers = np.stack(list(task.outputs(*split_texts(rows)))), np.arange(len(rows))
        return LabelLogits(logits, [row.label for row in rows], numbers, np.zeros_like(numbers))

    def relabel(self, row: TextRow, classes: Mapping[int, str], labels: Sequence[str]) -> TextRow:
        return row._replace(label=classes.get(0, row.label))

    def compare_labels(self, row: TextRow, other: TextRow, value: float | None) -> Mistake:
        return Mistake(displayed_texts(row), row.label, other.label, value)

    def score(self, rows: Sequence[TextRow], answers: Sequence[str], labels: Sequence[str]) -> TaskScores:
        return score_labels([row.label for row in rows], answers, labels)

    def mistakes(
        self, rows: Sequence[TextRow], answers: Sequence[str], confidences: Sequence[float] | None
    ) -> Mistakes:
        sure = [None] * len(rows) if confidences is None else confidences
        wrong = [
            Mistake(displayed_texts(row), row.label, answer, value)
            for row, answer, value in zip(rows, answers, sure, strict=True)
            if answer != row.label
        ]
        return Mistakes("confidence", worst_first(wrong), len(wrong), len(rows))

    def defines(self, metric: str, rows: Sequence[TextRow]) -> bool:
        """Returns False for Matthews' correlation if all rows have the same label."""
        return metric != "mcc" or len({row.label for row in rows}) > 1

    def sample_measure(
        self, metric: str, rows: Sequence[TextRow], answers: Sequence[str], labels: Sequence[str]
    ) -> RowStatistics | None:
        """Returns 0 or 1 per row for accuracy; see `label_statistics` for other metrics."""
        if metric == "accuracy":
            return RowStatistics.of_scores(answer == row.label for row, answer in zip(rows, answers, strict=True))
        return label_statistics(metric, [[row.label] for row in rows], [[answer] for answer in answers], labels)

    def given_answers(self, rows: Sequence[TextRow], labels: Sequence[str]) -> list[str]:
        return [most_likely_label(row.teacher.numbers, labels) for row in rows if row.teacher]

    def trivial(self, train: Sequence[TextRow], test: Sequence[TextRow]) -> tuple[str, list[str]]:
        return "majority class", [statistics.mode(row.label for row in train)] * len(test)

    def baselines(self, train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> Baselines:
        """Logistic regression on n-grams; for pairs also on the cosine of both texts."""
        methods: Baselines = {NGRAMS: lambda: classify_by_ngrams(train, validation, test)}
        if train[0].second_text is not None:
            methods[COSINE] = lambda: classify_by_cosine(train, test)
        return methods


def score_labels(true: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> TaskScores:
    """Accuracy, macro F1, a report by label and the confusion matrix; for two labels also Matthews' correlation (1975).

    Macro F1 is the mean over all labels that occur as true or predicted label. Matthews' correlation is 0 if only one
    label is predicted.
    """
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        f1_score,
        matthews_corrcoef,
        precision_recall_fscore_support,
    )

    numbers = {label: number for number, label in enumerate(labels)}
    truth = [numbers[label] for label in true]
    # A word without tokens is tagged O, which is not a part of speech: it counts as wrong.
    answers = [numbers.get(label, len(labels)) for label in predicted]
    every = list(range(len(labels)))
    seen = [label for label in every if label in {*truth, *answers}]
    metrics = {
        "accuracy": float(accuracy_score(truth, answers)),
        "macro_f1": float(f1_score(truth, answers, labels=seen, average="macro", zero_division=0.0)),
    }
    if len(labels) == 2:
        metrics["mcc"] = float(matthews_corrcoef(truth, answers)) if len(seen) == 2 else 0.0
    columns = precision_recall_fscore_support(truth, answers, labels=every, zero_division=0.0)
    names = ("precision", "recall", "f1", "support")
    report = {
        label: dict(zip(names, values, strict=True))
        for label, *values in zip(labels, *(column.tolist() for column in columns), strict=True)
    }
    return TaskScores(metrics, report, confusion_matrix(truth, answers, labels=every).tolist())
