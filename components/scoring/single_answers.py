"""Single answers for the report: the worst ones, and the bins of reliability diagrams."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.scoring.base import LabelLogits, TaskScoring
from components.scoring.calibration import confidences_of, reliability_bins


def describe_answers(
    scoring: TaskScoring[Any],
    rows: Sequence[Any],
    answers: Sequence[Any],
    classes: Sequence[str],
    calibration: Mapping[str, Any] | None,
    logits: LabelLogits | None,
) -> dict[str, Any]:
    """The worst answers to the test rows, and the bins of reliability diagrams.

    Args:
        scoring: the task's scoring.
        rows: the test rows.
        answers: the answers to them.
        classes: those of the logits, see `TaskScoring.classes`.
        calibration: the result of `calibrate`; None for a file without one.
        logits: the logits behind the answers; None without a calibration.

    Returns:
        `mistakes`, see `Mistakes`, and `reliability`, see `reliability_bins`; None without a calibration.
    """
    confidences, bins = None, None
    if calibration is not None and logits is not None:
        bins = reliability_bins(calibration, logits, classes)
        # A row of the logits may be a word, or a label of a text; a sentence or a text has no confidence then.
        confidences = confidences_of(calibration, logits, classes) if len(logits.truth) == len(rows) else None
    return {"mistakes": scoring.mistakes(rows, answers, confidences).as_dict(), "reliability": bins}
