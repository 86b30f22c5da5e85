"""How the logits of a file that was measured become probabilities, and below which of them it is not sure."""

import json
from pathlib import Path
from typing import NamedTuple


class Calibration(NamedTuple):
    """What validation rows told of a file.

    Attributes:
        temperature: what logits are divided by before their softmax; 1 leaves them as they are.
        threshold: the least probability of an answer that the model is sure of, 0 to 1; None: it is sure of all.
    """

    temperature: float = 1.0
    threshold: float | None = None

    def is_sure(self, probability: float) -> bool:
        """Whether an answer with this probability is one to rely on."""
        return self.threshold is None or probability >= self.threshold


def read_calibration(file: Path) -> Calibration:
    """What a `metrics.json` says of it; one that says nothing leaves logits as they are.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} must be JSON: {error}") from None
    found = (content.get("calibration") if isinstance(content, dict) else None) or {}
    calibration = Calibration(found.get("temperature") or 1.0, found.get("threshold"))
    numbers = [value for value in calibration if value is not None]
    if not all(isinstance(value, int | float) and value > 0 for value in numbers):
        raise ValueError(f"{file}: calibration must hold positive numbers, got {found}")
    return calibration
