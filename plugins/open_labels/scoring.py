"""Scores of the task `open_labels`: of the labels that were trained, and of those that are added to the model later."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.scoring.base import Baselines, TaskScores, TaskScoring
from components.scoring.baselines import NGRAMS
from components.scoring.mistakes import Mistake, Mistakes, displayed_texts, worst_first
from components.scoring.row_statistics import RowStatistics, divide
from plugins.open_labels.label_table import name_text
from plugins.open_labels.ngrams import classify_by_ngrams
from plugins.open_labels.rows import MOST_EXAMPLES, OpenRow, descriptions_of, examples_of

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

# Numbers of examples with which labels are added; 0 is for the name of the label.
COUNTS = (0, 1, 3, MOST_EXAMPLES)
_NONE_AUROC = "none_auroc"


class OpenAnswer(NamedTuple):
    """The label of a text before and after labels are added.

    Attributes:
        trained: the best of the trained labels.
        score: its score; a text of another label should have a lower one.
        added: the best label after the held-out labels are added, for each of `COUNTS`.
    """

    trained: str
    score: float
    added: tuple[str, ...]

    @property
    def label(self) -> str:
        """The label with all examples."""
        return self.added[-1]


class OpenLabelsScoring(TaskScoring[OpenRow]):
    """The accuracy on rows of trained and of added labels, and how well rows of unknown labels are told from others.

    The labels are added to a copy of the model's table with 8 examples, with the first 3 or 1 of them, or by name.
    """

    name = "open_labels"
    model_kind = "BERT that makes vectors of texts, with a table of labels to which labels can be added"
    output = "`embedding`: float32 (batch, width), which `label_table` in `task.json` compares with its {labels} labels"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        """`accuracy` with all labels added by 8 examples, its parts, and `none_auroc`."""
        added = tuple(f"added_{count or 'by_name'}" for count in reversed(COUNTS))
        return ("accuracy", "trained", "trained_before", *added, _NONE_AUROC)

    def answer(self, task: "Task", rows: Sequence[OpenRow]) -> list[OpenAnswer]:
        from plugins.open_labels.task import OpenLabels

        assert isinstance(task, OpenLabels)
        vectors, table, held_out = task.predict([row.text for row in rows]), task.table, examples_of(rows)
        scores = table.scores(vectors)
        before = [table.labels[best] for best in scores.argmax(axis=1)]
        texts = [text for examples in held_out.values() for text in examples]
        places = dict(zip(texts, task.predict(texts), strict=True)) if texts else {}
        names = task.name_vectors(list(held_out), descriptions_of(rows)) if held_out else {}
        added = []
        for count in COUNTS:
            grown = table.copy()
            for label, examples in held_out.items():
                if count:
                    grown.add(label, np.stack([places[text] for text in examples[:count]]))
                else:
                    grown.add(label, vectors[:0], names[label])
            added.append([grown.labels[best] for best in grown.scores(vectors).argmax(axis=1)])
        answers = zip(before, scores.max(axis=1).tolist(), zip(*added, strict=True), strict=True)
        return [OpenAnswer(*answer) for answer in answers]

    def score(self, rows: Sequence[OpenRow], answers: Sequence[OpenAnswer], labels: Sequence[str]) -> TaskScores:
        """The metrics that these rows define."""
        metrics = {}
        for name in self.metrics(labels):
            if not self.defines(name, rows):
                continue
            if name == _NONE_AUROC:
                from sklearn.metrics import roc_auc_score

                is_trained = [not row.examples for row in rows]
                metrics[name] = float(roc_auc_score(is_trained, [answer.score for answer in answers]))
            else:
                right, counted = _mark_rows(name, rows, answers)
                metrics[name] = float(right.sum() / counted.sum())
        return TaskScores(metrics)

    def defines(self, metric: str, rows: Sequence[OpenRow]) -> bool:
        """Whether there are rows of trained labels, of added ones, or of both, as the metric needs."""
        has_added, has_trained = any(row.examples for row in rows), any(not row.examples for row in rows)
        if metric in ("trained", "trained_before"):
            return has_trained
        return metric == "accuracy" or (has_added and (has_trained or metric != _NONE_AUROC))

    def sample_measure(
        self, metric: str, rows: Sequence[OpenRow], answers: Sequence[OpenAnswer], labels: Sequence[str]
    ) -> RowStatistics | None:
        if metric == _NONE_AUROC:
            return None
        right, counted = _mark_rows(metric, rows, answers)
        if metric == "accuracy":
            return RowStatistics.of_scores(right)
        values = np.stack([right, counted], axis=1)
        return RowStatistics(values, lambda means: divide(means[..., 0], means[..., 1]))

    def mistakes(
        self, rows: Sequence[OpenRow], answers: Sequence[OpenAnswer], confidences: Sequence[float] | None
    ) -> Mistakes:
        wrong = [
            Mistake(displayed_texts(row), row.label, answer.label, None)  # type: ignore[arg-type]
            for row, answer in zip(rows, answers, strict=True)
            if answer.label != row.label
        ]
        return Mistakes("confidence", worst_first(wrong), len(wrong), len(rows))

    def trivial(self, train: Sequence[OpenRow], test: Sequence[OpenRow]) -> tuple[str, list[OpenAnswer]]:
        counts: dict[str, int] = {}
        for row in train:
            counts[row.label] = counts.get(row.label, 0) + 1
        label = max(counts, key=lambda name: counts[name])
        return "majority class", [OpenAnswer(label, 0.0, (label,) * len(COUNTS))] * len(test)

    def baselines(self, train: Sequence[OpenRow], validation: Sequence[OpenRow], test: Sequence[OpenRow]) -> Baselines:
        """Logistic regression on n-grams, which learns anew from the training rows and the examples of added labels."""

        def answer() -> list[OpenAnswer]:
            held_out, descriptions = examples_of(test), descriptions_of(test)
            texts, labels = [row.text for row in train], [row.label for row in train]
            tested = [row.text for row in test]
            trained, shares = classify_by_ngrams(texts, labels, tested)
            added = []
            for count in COUNTS if held_out else ():
                new = {
                    label: examples[:count] or [name_text(label, descriptions[label])]
                    for label, examples in held_out.items()
                }
                more = [text for examples in new.values() for text in examples]
                more_labels = [label for label, examples in new.items() for _ in examples]
                added.append(classify_by_ngrams([*texts, *more], [*labels, *more_labels], tested)[0])
            columns = zip(*(added or [trained] * len(COUNTS)), strict=True)
            return [OpenAnswer(*row) for row in zip(trained, shares, columns, strict=True)]

        return {NGRAMS: answer}


def _mark_rows(metric: str, rows: Sequence[OpenRow], answers: Sequence[OpenAnswer]) -> tuple[Any, Any]:
    """1 for each row that a metric counts as right, and 1 for each that it counts at all, both (rows,) float64."""
    place = {f"added_{count or 'by_name'}": index for index, count in enumerate(COUNTS)}.get(metric, len(COUNTS) - 1)
    given = [answer.trained if metric == "trained_before" else answer.added[place] for answer in answers]
    is_trained = np.array([not row.examples for row in rows])
    counted = np.ones(len(rows)) if metric == "accuracy" else np.where(is_trained, 1.0, 0.0)
    if metric.startswith("added_"):
        counted = 1.0 - counted
    right = np.array([label == row.label for label, row in zip(given, rows, strict=True)])
    return counted * right, counted
