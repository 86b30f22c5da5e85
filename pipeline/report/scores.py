"""Reads the scores of a run for its page: models, labels, calibration and the worst answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from components.artifacts.evaluation import ANSWERS_FILE, Blessing, Evaluation, Metrics, SliceScore
from components.scoring.model_card import calibration_lines
from components.scoring.slices import worst_slices
from pipeline.report.record import RunRecord, read_json
from pipeline.views.models import Report, models_table, worst_classes
from pipeline.views.tables import Table

# A matrix of more labels cannot be read; the page lists the most frequent confusions instead.
_MOST_LABELS = 16
_MOST_CONFUSIONS = 20


class Confusion(NamedTuple):
    """A confusion matrix of (count, share of the row), or the most frequent confusions of many labels.

    The latter are `pairs` of (true, predicted, count, share of the true label).
    """

    labels: list[str]
    rows: list[list[tuple[int, float]]]
    pairs: list[tuple[str, str, int, float]]


class Scores(NamedTuple):
    """The results of one evaluation.

    Attributes:
        blessed: whether the model may be pushed; None without a decision.
        reasons: the reasons of the decision, then its warnings, and whether each holds; None for a remark.
        classes: label -> scores of the shipped model; the worst labels if there are many.
        reliability: see `components.evaluate`; None without calibration.
    """

    name: str
    models: Table
    blessed: bool | None
    reasons: list[tuple[bool | None, str]]
    classes: Report
    few: str
    confusion: Confusion | None
    calibration: list[str]
    reliability: Mapping[str, Sequence[Mapping[str, float] | None]] | None
    mistakes: Mapping[str, Any] | None
    slices: list[SliceScore]
    measured: Metrics


def read_scores(record: RunRecord) -> list[Scores]:
    """Reads the results of all evaluations of a run."""
    decisions = {step.name: Blessing(folder).read() for step, folder in record.outputs(Blessing.__name__)}
    results = []
    for step, folder in record.outputs(Evaluation.__name__):
        answers, measured = read_json(folder / ANSWERS_FILE) or {}, Evaluation(folder).read()
        decision = decisions.get(step.name)
        few, classes = worst_classes(measured.report or {})
        reasons: list[tuple[bool | None, str]] = []
        for reason in decision.reasons if decision else ():
            before, _, text = reason.partition(": ")
            reasons.append({"yes": (True, text), "NO": (False, text)}.get(before, (None, reason)))
        reasons += [(None, f"warning: {warning}") for warning in decision.warnings] if decision else []
        scores = Scores(
            name=step.name,
            models=models_table(measured),
            blessed=None if decision is None else decision.blessed,
            reasons=reasons,
            classes=classes,
            few=few,
            confusion=describe_confusion(measured.labels, measured.confusion) if measured.confusion else None,
            calibration=calibration_lines(measured.calibration) if measured.calibration else [],
            reliability=answers.get("reliability"),
            mistakes=answers.get("mistakes"),
            slices=worst_slices(measured.slices, measured.rows["test"]),
            measured=measured,
        )
        results.append(scores)
    return results


def describe_confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Confusion:
    """Describes a confusion matrix, whose rows are true labels and columns predicted ones."""
    shares = [[count / max(1, sum(row)) for count in row] for row in counts]
    if len(labels) <= _MOST_LABELS:
        return Confusion(list(labels), [list(zip(*row, strict=True)) for row in zip(counts, shares, strict=True)], [])
    pairs = [
        (labels[true], labels[got], count, shares[true][got])
        for true, row in enumerate(counts)
        for got, count in enumerate(row)
        if count and true != got
    ]
    return Confusion([], [], sorted(pairs, key=lambda pair: -pair[2])[:_MOST_CONFUSIONS])
