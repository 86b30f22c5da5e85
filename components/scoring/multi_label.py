"""The scoring of sets of labels: micro, macro and sample F1, subset accuracy and average precision."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.examples.texts import split_texts
from components.scoring.base import Baselines, LabelLogits, TaskScores, TaskScoring
from components.scoring.baselines import NGRAMS, classify_sets_by_ngrams
from components.scoring.mistakes import Mistake, Mistakes, displayed_texts, worst_first
from components.scoring.row_statistics import Measure, RowStatistics, sample_average_precision, set_statistics
from components.sources.label_sets import LabelSetRow

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

_NAMES = ("micro_f1", "macro_f1", "sample_f1", "subset_accuracy", "average_precision")
# The classes of a decision about one label.
_ABSENT, _PRESENT = "absent", "present"


class LabelSetAnswer(NamedTuple):
    """The labels that a text gets, and label -> probability; labels that are not in it have none."""

    labels: frozenset[str]
    probabilities: Mapping[str, float]


class LabelSetScoring(TaskScoring[LabelSetRow]):
    """F1 of all decisions together (micro), of labels (macro) and of texts (sample), and further metrics."""

    name = "multi_label"
    model_kind = "BERT that gives a text any number of labels"
    output = (
        "`logits`: float32 (batch, {labels}), one for each label; a label is given if the sigmoid of its\n"
        "logit reaches its entry of `thresholds` in `task.json` (`null`: it is never given)"
    )
    has_probabilities = True
    has_confidences = False
    decides_by_label = True
    has_variants = True

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return _NAMES

    def classes(self, labels: Sequence[str]) -> Sequence[str]:
        return _ABSENT, _PRESENT

    def answer(self, task: "Task", rows: Sequence[LabelSetRow]) -> list[LabelSetAnswer]:
        from keras_bert.metrics.label_thresholds import label_probabilities
        from keras_bert.tasks.multi_label import MultiLabelClassification

        assert isinstance(task, MultiLabelClassification)
        logits = np.stack(list(task.outputs(*split_texts(rows))))
        return make_answers(task.decide(logits), label_probabilities(logits), task.labels)

    def variants(
        self, task: "Task", rows: Sequence[LabelSetRow], answers: Sequence[LabelSetAnswer]
    ) -> dict[str, list[LabelSetAnswer]]:
        """The answers without chosen thresholds, which show what the choice gains on rows that it did not see."""
        shares = _stack_probabilities(answers, task.labels)
        return {"thresholds of 0.5": make_answers(shares >= 0.5, shares, task.labels)}

    def logits(self, task: "Task", rows: Sequence[LabelSetRow]) -> LabelLogits:
        """A row for each label of each text, with the logits of absence and presence."""
        from keras_bert.metrics.label_thresholds import with_absence
        from keras_bert.tasks.multi_label import MultiLabelClassification

        assert isinstance(task, MultiLabelClassification)
        logits = with_absence(np.stack(list(task.outputs(*split_texts(rows)))))
        truth = [_PRESENT if label in row.labels else _ABSENT for row in rows for label in task.labels]
        return LabelLogits(logits.reshape(-1, 2), truth, *np.indices(logits.shape[:2]).reshape(2, -1))

    def relabel(self, row: LabelSetRow, classes: Mapping[int, str], labels: Sequence[str]) -> LabelSetRow:
        changes = {labels[place]: name == _PRESENT for place, name in classes.items()}
        kept = [label for label in row.labels if changes.get(label, True)]
        return row._replace(labels=tuple(sorted({*kept, *(label for label, present in changes.items() if present)})))

    def compare_labels(self, row: LabelSetRow, other: LabelSetRow, value: float | None) -> Mistake:
        return Mistake(displayed_texts(row), ", ".join(row.labels), ", ".join(other.labels), value)

    def score(
        self, rows: Sequence[LabelSetRow], answers: Sequence[LabelSetAnswer], labels: Sequence[str]
    ) -> TaskScores:
        truth = flag_sets([row.labels for row in rows], labels)
        given = flag_sets([answer.labels for answer in answers], labels)
        return score_sets(truth, given, _stack_probabilities(answers, labels), labels)

    def given_answers(self, rows: Sequence[LabelSetRow], labels: Sequence[str]) -> list[LabelSetAnswer]:
        from keras_bert.metrics.label_thresholds import label_probabilities

        logits = np.array([row.teacher.numbers for row in rows if row.teacher])
        return make_answers(logits >= 0, label_probabilities(logits), labels)

    def mistakes(
        self, rows: Sequence[LabelSetRow], answers: Sequence[LabelSetAnswer], confidences: Sequence[float] | None
    ) -> Mistakes:
        wrong = []
        for row, answer in zip(rows, answers, strict=True):
            count = len(answer.labels.symmetric_difference(row.labels))
            if count:
                truth, given = (", ".join(sorted(names)) or "none" for names in (row.labels, answer.labels))
                wrong.append(Mistake(displayed_texts(row), truth, given, float(count)))
        return Mistakes("wrong labels", worst_first(wrong), len(wrong), len(rows))

    def defines(self, metric: str, rows: Sequence[LabelSetRow]) -> bool:
        """Without any true label all metrics but those of single rows are 0, even of answers that are all right."""
        return metric in ("sample_f1", "subset_accuracy") or any(row.labels for row in rows)

    def sample_measure(
        self, metric: str, rows: Sequence[LabelSetRow], answers: Sequence[LabelSetAnswer], labels: Sequence[str]
    ) -> Measure | None:
        """Of sample F1 a row scores its F1, of subset accuracy 1 where all labels are right, else 0.

        See `sample_average_precision` and `set_statistics` for other metrics.
        """
        sets = [(frozenset(row.labels), answer.labels) for row, answer in zip(rows, answers, strict=True)]
        if metric == "subset_accuracy":
            return RowStatistics.of_scores(truth == given for truth, given in sets)
        if metric == "sample_f1":
            sizes = [(2 * len(truth & given), len(truth) + len(given)) for truth, given in sets]
            return RowStatistics.of_scores(both / size if size else 1.0 for both, size in sizes)
        truth, given = (flag_sets(side, labels) for side in zip(*sets, strict=True))
        if metric == "average_precision":
            return functools.partial(sample_average_precision, truth, _stack_probabilities(answers, labels))
        return set_statistics(metric, truth, given)

    def trivial(self, train: Sequence[LabelSetRow], test: Sequence[LabelSetRow]) -> tuple[str, list[LabelSetAnswer]]:
        counts = Counter(label for row in train for label in row.labels)
        commonest = max(sorted(counts), key=counts.__getitem__)
        shares = {label: count / len(train) for label, count in counts.items()}
        return "most frequent label", [LabelSetAnswer(frozenset([commonest]), shares)] * len(test)

    def baselines(
        self, train: Sequence[LabelSetRow], validation: Sequence[LabelSetRow], test: Sequence[LabelSetRow]
    ) -> Baselines:
        """Logistic regressions on n-grams, one for each label, with thresholds that are chosen as the model's."""
        labels = sorted({label for row in train for label in row.labels})

        def answer() -> list[LabelSetAnswer]:
            from keras_bert.metrics.label_thresholds import choose_thresholds

            held_out, shares = classify_sets_by_ngrams(train, validation, test, labels)
            thresholds = choose_thresholds(held_out, flag_sets([row.labels for row in validation], labels))
            return make_answers(shares >= [2 if least is None else least for least in thresholds], shares, labels)

        return {NGRAMS: answer}


def make_answers(given: Array, shares: Array, labels: Sequence[str]) -> list[LabelSetAnswer]:
    """Answers from whether each label is given (rows, labels), and its probability (rows, labels)."""
    return [
        LabelSetAnswer(
            frozenset(label for label, flag in zip(labels, flags, strict=True) if flag),
            dict(zip(labels, row.tolist(), strict=True)),
        )
        for flags, row in zip(given, shares, strict=True)
    ]


def _stack_probabilities(answers: Sequence[LabelSetAnswer], labels: Sequence[str]) -> Array:
    """The probability of each label of each answer (answers, labels)."""
    return np.array([[answer.probabilities.get(label, 0.0) for label in labels] for answer in answers])


def flag_sets(sets: Sequence[Any], labels: Sequence[str]) -> Array:
    """True for each label of a set: bool (sets, labels)."""
    flags, places = np.zeros((len(sets), len(labels)), bool), {label: place for place, label in enumerate(labels)}
    for row, names in enumerate(sets):
        flags[row, [places[name] for name in names if name in places]] = True
    return flags


def score_sets(truth: Array, given: Array, shares: Array, labels: Sequence[str]) -> TaskScores:
    """The metrics of labels, as scikit-learn has them.

    Macro F1 is the mean over the labels that are true or given somewhere, average precision that over the labels that
    are true somewhere. A text that has no label and gets none has an F1 of 1.

    `truth` and `given` are True for each label of a row, `shares` are the probabilities (rows, labels).
    """
    from sklearn.metrics import accuracy_score, average_precision_score, f1_score, precision_recall_fscore_support

    seen = [place for place in range(len(labels)) if truth[:, place].any() or given[:, place].any()]
    precisions = {
        place: float(average_precision_score(truth[:, place], shares[:, place]))
        for place in range(len(labels))
        if truth[:, place].any()
    }
    metrics = {
        "micro_f1": float(f1_score(truth, given, average="micro", zero_division=0.0)),
        "macro_f1": float(f1_score(truth, given, average="macro", labels=seen, zero_division=0.0)) if seen else 0.0,
        "sample_f1": float(f1_score(truth, given, average="samples", zero_division=1.0)),
        "subset_accuracy": float(accuracy_score(truth, given)),
        "average_precision": sum(precisions.values()) / len(precisions) if precisions else 0.0,
    }
    columns = precision_recall_fscore_support(truth, given, zero_division=0.0)
    *scores, support = (column.tolist() for column in columns)
    average = [precisions.get(place, 0.0) for place in range(len(labels))]
    names = ("precision", "recall", "f1", "average precision", "support")
    rows = (dict(zip(names, values, strict=True)) for values in zip(*scores, average, support, strict=True))
    return TaskScores(metrics, dict(zip(labels, rows, strict=True)))
