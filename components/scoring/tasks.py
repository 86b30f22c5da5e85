"""How good the answers of a task are: its metrics over all rows, and a report of each class.

Shares are 0 to 1, correlations -1 to 1.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.rows import Rows, predict
from components.scoring.classes import score
from components.sources.squad import Question

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

Report = dict[str, dict[str, float]]

# The first metric of a task is its main one.
_OF_ENTITIES = ("f1", "precision", "recall")
_OF_LABELS = ("accuracy", "macro_f1")
_METRICS = {
    "regression": ("spearman", "pearson"),
    "question_answering": ("f1", "exact"),
}


class TaskScores(NamedTuple):
    """The scores on the rows of a split.

    Attributes:
        metrics: see `metric_names`.
        report: of each class its precision, recall, f1 and support; of questions exact, f1 and support, for those that
            have an answer and those that have none; empty for a regression.
    """

    metrics: dict[str, float]
    report: Report


def metric_names(task: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The metrics of a task, its main one first.

    Args:
        task: a key of `TASKS`.
        labels: of the examples; none where the task has none.
    """
    if task == "classification":
        return (*_OF_LABELS, "mcc") if len(labels) == 2 else _OF_LABELS
    if task == "token_classification":
        return _OF_ENTITIES if _are_entities(labels) else _OF_LABELS
    return _METRICS[task]


def choose_metric(wanted: str, task: str, labels: Sequence[str]) -> str:
    """The metric that was asked for, else the task's main one.

    Raises:
        InputError: the task has no such metric.
    """
    names = metric_names(task, labels)
    if wanted and wanted not in names:
        what = f"{task} with {len(labels)} labels" if labels else task
        raise InputError(f"metric must be one of {list(names)} for {what}, got {wanted!r}")
    return wanted or names[0]


def score_task(task: "Task", rows: Rows) -> TaskScores:
    """What a user gets who asks the task about each row, compared with the rows' own answers.

    Raises:
        InputError: the rows of a regression all have one number.
    """
    answers = predict(task, rows)
    truth: list[Any] = [row[-1] for row in rows]
    if task.name == "regression":
        return score_numbers(truth, answers)
    if task.name == "question_answering":
        return score_answers([row for row in rows if isinstance(row, Question)], [answer.text for answer in answers])
    labels: tuple[str, ...] = getattr(task, "labels", ())
    if task.name == "classification":
        return score_labels(truth, answers, labels)
    return score_tags(truth, answers, labels)


def score_labels(true: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> TaskScores:
    """Accuracy, macro F1 and, of two labels, Matthews' correlation (1975; 0 where one label is always predicted)."""
    from sklearn.metrics import matthews_corrcoef, precision_recall_fscore_support

    numbers = {label: number for number, label in enumerate(labels)}
    truth = [numbers[label] for label in true]
    # A word without pieces is tagged O, which parts of speech do not know: as wrong as any.
    answers = [numbers.get(label, len(labels)) for label in predicted]
    every = list(range(len(labels)))
    whole = score(truth, answers, len(labels))
    metrics = {name: whole[name] for name in _OF_LABELS}
    if len(labels) == 2:
        metrics["mcc"] = float(matthews_corrcoef(truth, answers))
    parts = precision_recall_fscore_support(truth, answers, labels=every, zero_division=0.0)
    columns = zip(*(part.tolist() for part in parts), strict=True)
    return TaskScores(metrics, {label: _row(*column) for label, column in zip(labels, columns, strict=True)})


def score_numbers(true: Sequence[float], predicted: Sequence[float]) -> TaskScores:
    """Spearman's and Pearson's correlation; both 0 for a model that answers all rows alike: it orders nothing.

    Raises:
        InputError: all true numbers are the same: nothing correlates with them.
    """
    from keras_bert.metrics.correlation import correlations

    if len(set(true)) < 2:
        raise InputError(f"the rows to score must hold at least 2 different numbers, got {sorted(set(true))}")
    names = _METRICS["regression"]
    found = correlations(predicted, true) if len(set(predicted)) > 1 else dict.fromkeys(names, 0.0)
    return TaskScores({name: found[name] for name in names}, {})


def score_tags(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]) -> TaskScores:
    """Entities found, all types counted together; where tags mark no entities, as `score_labels` over the words."""
    from keras_bert.metrics.entities import entity_scores

    if not _are_entities(labels):
        words = [[tag for sentence in side for tag in sentence] for side in (true, predicted)]
        found = score_labels(words[0], words[1], labels)
        return TaskScores({name: found.metrics[name] for name in _OF_LABELS}, found.report)
    scores = entity_scores(true, predicted)
    metrics = {name: float(getattr(scores.micro, name)) for name in _OF_ENTITIES}
    return TaskScores(metrics, {label: dataclasses.asdict(own) for label, own in scores.types.items()})


def score_answers(questions: Sequence[Question], predicted: Sequence[str]) -> TaskScores:
    """SQuAD's F1 and exact match; those of v1.1 where each question has an answer, else those of v2.0."""
    from keras_bert.metrics.squad import score_v1, score_v2

    golds = {question.id: [text for text, _ in question.answers] for question in questions}
    answers = {question.id: text for question, text in zip(questions, predicted, strict=True)}
    names = _METRICS["question_answering"]
    if all(golds.values()):
        found = score_v1(answers, golds)
        metrics = {name: found[name] / 100 for name in names}
        return TaskScores(metrics, {"answer": {**metrics, "support": len(golds)}})
    found = score_v2(answers, golds)
    report: Report = {}
    for prefix, kind in (("HasAns_", "answer"), ("NoAns_", "no answer")):
        if f"{prefix}total" in found:
            parts = {name: found[prefix + name] / 100 for name in names}
            report[kind] = {**parts, "support": found[f"{prefix}total"]}
    return TaskScores({name: found[name] / 100 for name in names}, report)


def _are_entities(labels: Sequence[str]) -> bool:
    from keras_bert.tasks.token_classification import are_entity_tags

    return are_entity_tags(labels)


def _row(precision: float, recall: float, f1: float, support: int) -> dict[str, float]:
    return {"precision": precision, "recall": recall, "f1": f1, "support": support}
