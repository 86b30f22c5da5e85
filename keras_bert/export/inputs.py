"""Inputs of an export: the model, its settings, and the rows that files are compared on."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.options.export import Export
from keras_bert.options.quantization import RECIPES, RecipeName

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.tasks.base import Array, Features, Task


@dataclasses.dataclass(frozen=True)
class ExportInputs:
    """A trained model, with its recipe and activation ranges if it is quantized, and the settings of its export.

    `calibration_rows` (rows, length) are required if the recipe quantizes all activations.
    """

    task: "Task"
    quantization: "QuantizationParameters | None"
    options: Export
    folder: Path
    calibration_rows: "Features | None" = None

    @property
    def recipe(self) -> RecipeName | None:
        """The quantization recipe; None for a float model."""
        return None if self.quantization is None else self.quantization.recipe


@dataclasses.dataclass(frozen=True)
class ComparisonRows:
    """Rows on which the exported files of a model are compared with it; for the agreement see `export_model`."""

    features: "Features"
    read_texts: Callable[[], Sequence[str]]
    minimum_agreement: float
    answers: "dict[tuple[bool, tuple[int, ...]], Array]" = dataclasses.field(default_factory=dict, init=False)


def needs_calibration_rows(recipe: RecipeName | None) -> bool:
    """True if a recipe needs training rows to measure the ranges of all activations."""
    return recipe is not None and RECIPES[recipe].activations == "all"
