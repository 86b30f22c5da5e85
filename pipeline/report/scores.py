"""How good the models of a run are: a row a model, each label, how far to believe them, and their worst answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.artifacts.blessing import Blessing
from components.artifacts.evaluation import ANSWERS_FILE, METRICS_FILE, Evaluation
from components.scoring.model_card import calibration_lines
from pipeline.report.record import Record, read_json
from pipeline.views.models import Report, notes_of, table_of, worst_classes

# Labels of a matrix that can still be read; of more, the commonest confusions are told.
_MOST_LABELS = 16
_MOST_CONFUSIONS = 20


class Confusion(NamedTuple):
    """Of true labels how many got which label.

    Attributes:
        labels: in the order of the rows; empty where there are too many, and pairs in their place.
        rows: of each true label [(count, share of the row), ...].
        pairs: (true, predicted, count, share of the true label), the commonest first.
    """

    labels: list[str]
    rows: list[list[tuple[int, float]]]
    pairs: list[tuple[str, str, int, float]]


class Scores(NamedTuple):
    """What one evaluation found.

    Attributes:
        name: of the step.
        shipped: the model that is shipped.
        headings: of the table of models.
        table: a row a model.
        notes: what it takes to read it.
        blessed: whether it may be pushed; None where nothing decides.
        reasons: why.
        classes: label -> what the shipped model reaches on it; of many the worst.
        few: says so.
        confusion: None where there is none.
        calibration: what it is worth, a line each.
        reliability: see `components.scoring.single_answers`; None where nothing is calibrated.
        mistakes: see there; None of an older release.
        measured: all of `metrics.json`.
    """

    name: str
    shipped: str
    headings: list[str]
    table: list[list[str]]
    notes: list[str]
    blessed: bool | None
    reasons: list[tuple[bool | None, str]]
    classes: Report
    few: str
    confusion: Confusion | None
    calibration: list[str]
    reliability: Mapping[str, Sequence[Mapping[str, float] | None]] | None
    mistakes: Mapping[str, Any] | None
    measured: Mapping[str, Any]


def read_scores(record: Record) -> list[Scores]:
    """What each evaluation of a run found."""
    decisions = {step.name: read_json(folder / "blessing.json") for step, folder in record.outputs(Blessing.__name__)}
    found = []
    for step, folder in record.outputs(Evaluation.__name__):
        measured = read_json(folder / METRICS_FILE)
        if measured is not None:
            answers = read_json(folder / ANSWERS_FILE) or {}
            found.append(_describe(step.name, measured, answers, decisions.get(step.name)))
    return found


def _describe(
    name: str, measured: Mapping[str, Any], answers: Mapping[str, Any], decision: Mapping[str, Any] | None
) -> Scores:
    headings, table = table_of(measured)
    few, classes = worst_classes(measured.get("report") or {})
    calibration = measured.get("calibration")
    confusion = measured.get("confusion")
    return Scores(
        name=name,
        shipped=measured["shipped"],
        headings=headings,
        table=table,
        notes=list(notes_of(measured)),
        blessed=None if decision is None else bool(decision["blessed"]),
        reasons=list(_split(decision["reasons"])) if decision else [],
        classes=classes,
        few=few,
        confusion=describe_confusion(measured["labels"], confusion) if confusion else None,
        calibration=calibration_lines(calibration) if calibration else [],
        reliability=answers.get("reliability"),
        mistakes=answers.get("mistakes"),
        measured=measured,
    )


def _split(reasons: Sequence[str]) -> Iterator[tuple[bool | None, str]]:
    """Each reason without the `yes: ` or `NO: ` before it, which say whether it holds; some are only told."""
    for reason in reasons:
        before, _, rest = reason.partition(": ")
        yield {"yes": (True, rest), "NO": (False, rest)}.get(before, (None, reason))


def describe_confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Confusion:
    """A matrix, or of many labels the commonest confusions.

    Args:
        labels: in the order of rows and columns.
        counts: rows are the true labels, columns the predicted ones.
    """
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
