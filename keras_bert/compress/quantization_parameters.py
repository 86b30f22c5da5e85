"""The quantization parameters of a trained model: their file, and the model with its activations quantized."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import keras

from keras_bert.compress.fake_quantizers import quantize_rows
from keras_bert.compress.quantize import product_input_taps
from keras_bert.compress.ranges import Ranges, fixed_ranges
from keras_bert.core.folders import QUANTIZATION_FILE, read_json_file
from keras_bert.models.traces import transformed
from keras_bert.options.quantization import RECIPES, RecipeName


class QuantizationParameters(NamedTuple):
    """The recipe of a quantized model, ranges of `QuantizationAware.finish`, and the paths of float layers."""

    recipe: RecipeName
    ranges: Ranges
    float_layers: tuple[str, ...] = ()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the parameters as `quantization.json` into an existing folder; `read_quantization` reads them."""
        ranges = {path: list(span) for path, span in self.ranges.items()}
        content = {"recipe": self.recipe, "ranges": ranges, "float_layers": list(self.float_layers)}
        (Path(folder) / QUANTIZATION_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


@contextlib.contextmanager
def quantized_activations(model: keras.Model, quantization: QuantizationParameters) -> Iterator[None]:
    """Inside the block, the activations of a model with quantized weights are quantized by its recipe."""
    recipe = RECIPES[quantization.recipe]
    rows = product_input_taps(model, quantization.float_layers).values() if recipe.activations == "rows" else ()
    ranges = fixed_ranges(model, quantization.ranges, recipe.activation_bits)
    with ranges, transformed(model, dict.fromkeys(rows, quantize_rows)):
        yield


def read_quantization(folder: str | os.PathLike[str]) -> QuantizationParameters | None:
    """Reads the parameters that `QuantizationParameters.save` wrote; None for a float model, which has no such file."""
    path = Path(folder) / QUANTIZATION_FILE
    if not path.is_file():
        return None
    content = read_json_file(path)
    try:
        ranges = {name: (float(low), float(high)) for name, (low, high) in content["ranges"].items()}
        RECIPES[content["recipe"]]
        return QuantizationParameters(content["recipe"], ranges, tuple(map(str, content["float_layers"])))
    except (AttributeError, KeyError, TypeError, ValueError):
        rule = f"hold a recipe of {', '.join(RECIPES)}, ranges of two numbers and float_layers"
        raise ValueError(f"{path} must {rule}, got {str(content)[:200]}") from None
