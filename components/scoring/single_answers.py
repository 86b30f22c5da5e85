"""What a person is told of single answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.scoring.base import Answered, TaskScoring
from components.scoring.calibration import confidences_of, draw_from


def tell_answers(
    scoring: TaskScoring[Any],
    rows: Sequence[Any],
    answers: Sequence[Any],
    labels: Sequence[str],
    calibration: Mapping[str, Any] | None,
    found: Answered | None,
) -> dict[str, Any]:
    """The worst answers, and of labels what a reliability diagram is drawn from.

    Args:
        scoring: of the task.
        rows: of the test split.
        answers: to them.
        labels: of the task.
        calibration: see `calibrate`; None of a file that has none, as is the next one.
        found: what lies behind the answers.

    Returns:
        `mistakes`, see `Mistakes`, and `reliability`, see `draw_from`; None where nothing is calibrated.
    """
    confidences, bins = None, None
    if calibration is not None and found is not None:
        bins = draw_from(calibration, found, labels)
        # A row of `found` may be a word; a sentence has no confidence.
        confidences = confidences_of(calibration, found, labels) if len(found.truth) == len(rows) else None
    return {"mistakes": scoring.mistakes(rows, answers, confidences).as_dict(), "reliability": bins}
