"""The calibration of an exported file: its temperature, and the confidence below which it is not sure."""

from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.core.folders import read_json_file

# Logits that are divided by a smaller number may be infinite, and have no softmax then.
_LEAST_TEMPERATURE = 1e-30


class Calibration(NamedTuple):
    """Temperature and threshold that were chosen on validation rows.

    Attributes:
        temperature: divisor of the logits before the softmax; 1 leaves them unchanged.
        threshold: the least probability of an answer that the model is sure of, 0 to 1; None for all answers.

    Examples:
        >>> Calibration(threshold=0.9).is_sure(0.95), Calibration(threshold=0.9).is_sure(0.6)
        (True, False)
    """

    temperature: float = 1.0
    threshold: float | None = None

    def is_sure(self, probability: float) -> bool:
        """Whether the probability of an answer reaches the threshold."""
        return self.threshold is None or probability >= self.threshold


def read_calibration(file: Path) -> Calibration:
    """Reads the calibration of a `metrics.json`; without one logits stay unchanged."""
    return calibration_of(read_json_file(file).get("calibration"), file)


def calibration_of(table: Any, file: Path) -> Calibration:
    """The calibration that a file holds under this name; that which changes nothing for None."""
    table = {} if table is None else table
    fields = Calibration._fields if isinstance(table, dict) else ()
    numbers = {name: table[name] for name in fields if table.get(name) is not None}
    fits = all(type(value) in (int, float) and 0 <= value < float("inf") for value in numbers.values())
    if not (isinstance(table, dict) and fits and numbers.get("temperature") != 0):
        rule = "hold a positive temperature and a threshold of at least 0"
        raise ValueError(f"{file}: calibration must {rule}, got {table}")
    if numbers.get("temperature", 1) < _LEAST_TEMPERATURE:
        raise ValueError(f"{file}: calibration.temperature must be at least {_LEAST_TEMPERATURE}, got {table}")
    return Calibration(**numbers)
