"""How far the shipped file may be believed: what validation rows find, and what it is worth on test rows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.errors import InputError
from components.scoring.base import Answered

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# Tasks whose answers are labels.
CALIBRATED = ("classification", "token_classification")


def check_precision(precision: float | None, task: str) -> None:
    """Asks whether a task has probabilities that a threshold can be found for.

    Raises:
        InputError: it has none, and a precision is asked for.
    """
    if precision is not None and task not in CALIBRATED:
        raise InputError(f"min_precision must be left out but for {' and '.join(CALIBRATED)}, got {precision:g}")


def calibrate(validation: Answered, labels: Sequence[str], precision: float | None) -> dict[str, Any]:
    """The temperature and the threshold that validation rows give.

    Args:
        validation: what the file answers to them.
        labels: in the order of the logits.
        precision: the share of right answers among those that the model is sure of, 0 to 1; None for no threshold.

    Returns:
        `temperature`, None where the likelihood has no peak, so that logits stay as they are; with a precision
        `min_precision` and `threshold`, None where it cannot be reached; and `validation`, see `measure`.
    """
    from keras_bert.metrics.calibration import find_temperature, find_threshold

    split = _Split.of(validation, labels)
    content: dict[str, Any] = {"temperature": find_temperature(split.logits, split.truth)}
    if precision is not None:
        decided = split.confidences(content["temperature"] or 1.0)
        content |= {"min_precision": precision, "threshold": find_threshold(*decided, precision)}
    return {**content, "validation": measure(content, validation, labels)}


def measure(calibration: Mapping[str, Any], found: Answered, labels: Sequence[str]) -> dict[str, Any]:
    """What a calibration is worth on a split.

    Args:
        calibration: what `calibrate` gave.
        found: what the file answers to the rows.
        labels: in the order of the logits.

    Returns:
        `rows`; `calibration_error`, 0 to 1, and `likelihood_loss`, in nats, each before and after; where there is a
        threshold `kept`: the `share` of the answers above it, and their `precision`.
    """
    from keras_bert.metrics.calibration import calibration_error, kept_by, likelihood_loss

    split, temperature = _Split.of(found, labels), calibration["temperature"] or 1.0
    both = (1.0, temperature)
    content: dict[str, Any] = {
        "rows": len(split.truth),
        "calibration_error": [calibration_error(*split.confidences(each)) for each in both],
        "likelihood_loss": [likelihood_loss(split.logits, split.truth, each) for each in both],
    }
    if calibration.get("threshold") is not None:
        content["kept"] = kept_by(calibration["threshold"], *split.confidences(temperature))._asdict()
    return content


def draw_from(calibration: Mapping[str, Any], found: Answered, labels: Sequence[str]) -> dict[str, Any]:
    """What a diagram of a calibration is drawn from: `before` and `after`, each the bins of `reliability` as dicts."""
    from keras_bert.metrics.calibration import reliability

    split = _Split.of(found, labels)
    both = {"before": 1.0, "after": calibration["temperature"] or 1.0}
    return {
        name: [own and own._asdict() for own in reliability(*split.confidences(temperature))]
        for name, temperature in both.items()
    }


def confidences_of(calibration: Mapping[str, Any], found: Answered, labels: Sequence[str]) -> list[float]:
    """The probability of each answer, 0 to 1, once it is calibrated."""
    shares, _ = _Split.of(found, labels).confidences(calibration["temperature"] or 1.0)
    return [float(share) for share in shares]


class _Split(NamedTuple):
    """The logits (rows, labels) of a split, and the numbers of the true labels (rows,)."""

    logits: "Array"
    truth: "Array"

    @staticmethod
    def of(found: Answered, labels: Sequence[str]) -> "_Split":
        import numpy as np

        numbers = {label: number for number, label in enumerate(labels)}
        return _Split(found.logits, np.array([numbers[label] for label in found.truth]))

    def confidences(self, temperature: float) -> "tuple[Array, Array]":
        """Of each row the probability of its answer, and whether that is right."""
        from keras_bert.metrics.calibration import probabilities

        shares = probabilities(self.logits, temperature)
        return shares.max(axis=1), shares.argmax(axis=1) == self.truth
