"""The calibration of a SavedModel: a table in its assets, which is read where the model is loaded."""

from pathlib import Path

from keras_bert.core.folders import CALIBRATION_FILE, SAVED_MODEL_FILE
from keras_bert.tasks.calibration import Calibration

NAMES = ("temperature", "threshold")


def write_table(file: Path, calibration: Calibration) -> None:
    """Writes the table: a name and a number on each line, with a tab between them."""
    threshold = 0.0 if calibration.threshold is None else calibration.threshold
    numbers = zip(NAMES, (calibration.temperature, threshold), strict=True)
    file.write_text("".join(f"{name}\t{number!r}\n" for name, number in numbers), encoding="utf-8")


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Sets the calibration of a folder's SavedModel, if the folder is one."""
    if (folder / SAVED_MODEL_FILE).is_file():
        write_table(folder / CALIBRATION_FILE, calibration)
