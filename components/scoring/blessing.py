"""Whether a model may be pushed."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from keras_bert.checks import check

PREVIOUS = "pushed before"
# Setting -> the column of the table that it bounds.
BUDGETS = {"max_megabytes": "megabytes", "max_milliseconds": "milliseconds"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What a model must reach to be blessed; scores are points of a metric on test rows, 0 to 100.

    Attributes:
        metric: what is looked at; the main one of the task if empty.
        min_score: of the shipped file; it must also beat the same answer to all rows, where the task has one.
        max_export_loss: the most that the shipped file may lose against the float model it was made of.
        max_regression: the most that the shipped file may lose against the version pushed before, where that one knows
            the same task and labels.
        min_share_of_teacher: of the teacher's score that the shipped file must keep, 0 to 1.
        max_megabytes: of the shipped file; None for any.
        max_milliseconds: of one answer of the shipped file, the median of test rows on one thread; None for any.
        min_precision: of labels, the share of right answers among those that the shipped file is sure of, 0 to 1:
            validation rows must have a confidence above which it is reached; None for a file that is sure of all.
    """

    metric: str = ""
    min_score: float = 0.0
    max_export_loss: float = 1.5
    max_regression: float = 1.0
    min_share_of_teacher: float = 0.0
    max_megabytes: float | None = None
    max_milliseconds: float | None = None
    min_precision: float | None = None

    def __post_init__(self) -> None:
        for field in ("min_score", "max_export_loss", "max_regression"):
            check("Thresholds", field, 0 <= getattr(self, field) <= 100, "be between 0 and 100", getattr(self, field))
        share = self.min_share_of_teacher
        check("Thresholds", "min_share_of_teacher", 0 <= share <= 1, "be between 0 and 1", share)
        for field in BUDGETS:
            budget = getattr(self, field)
            check("Thresholds", field, budget is None or 0 < budget < math.inf, "be above 0", budget)
        precision = self.min_precision
        fit = precision is None or 0 < precision <= 1
        check("Thresholds", "min_precision", fit, "be above 0 and at most 1", precision)


def decide(
    rows: dict[str, dict[str, Any]],
    metric: str,
    shipped: str,
    thresholds: Thresholds,
    calibration: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Whether the shipped file may be pushed: {"blessed": ..., "reasons": [...]}; the reasons say what was compared.

    Args:
        rows: of the table, by name; `metrics` of each has a mean over seeds.
        metric: what is looked at.
        shipped: the row that decides.
        thresholds: what it must reach.
        calibration: of the shipped file, see `calibrate`; None of one that has none.
    """
    points = {name: 100 * row["metrics"][metric]["mean"] for name, row in rows.items()}
    score = points[shipped]
    floors = {f"evaluation.min_score {thresholds.min_score:.2f}": thresholds.min_score}
    source = next((name for name in ("student", "teacher") if name in points and name != shipped), None)
    if source is not None:
        floors[f"the {source}'s {points[source]:.2f} - {thresholds.max_export_loss}"] = (
            points[source] - thresholds.max_export_loss
        )
    share = thresholds.min_share_of_teacher
    if share:
        floors[f"{share:g} of the teacher's {points['teacher']:.2f}"] = share * points["teacher"]
    if PREVIOUS in points:
        before = points[PREVIOUS]
        floors[f"the version before's {before:.2f} - {thresholds.max_regression}"] = before - thresholds.max_regression
    # A hair of tolerance: percentages of counts do not subtract exactly.
    verdicts = [
        (score >= floor - 1e-9, f"{shipped} {metric} {score:.2f} must be at least {name}")
        for name, floor in floors.items()
    ]
    for name, row in rows.items():
        if row.get("trivial"):
            beaten = score > points[name]
            verdicts.append((beaten, f"{shipped} {metric} {score:.2f} must be above the {name}'s {points[name]:.2f}"))
    for setting, column in BUDGETS.items():
        budget = getattr(thresholds, setting)
        if budget is not None:
            size = rows[shipped][column]
            verdicts.append((size <= budget, f"{shipped} {column} {size:.2f} must be at most {budget:g}"))
    if calibration is not None and "threshold" in calibration:
        verdicts.append(_judge_threshold(calibration))
    return {
        "blessed": all(holds for holds, _ in verdicts),
        "reasons": [f"{'yes' if holds else 'NO'}: {rule}" for holds, rule in verdicts],
    }


def _judge_threshold(calibration: Mapping[str, Any]) -> tuple[bool, str]:
    asked = f"evaluation.min_precision {calibration['min_precision']:g}"
    if calibration["threshold"] is None:
        return False, f"{asked} must be reached by validation rows above some confidence, and is by none"
    kept = 100 * calibration["validation"]["kept"]["share"]
    return True, f"{asked} is reached from {calibration['threshold']:.4f} on, by {kept:.2f} % of validation rows"
