"""How a model was rounded: what stands beside it, and its answers as an exported file gives them."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import keras

from keras_bert.compress.grids import round_rows
from keras_bert.compress.quantize import read_taps
from keras_bert.compress.ranges import Ranges, fixed_ranges
from keras_bert.models.traces import forget_traces
from keras_bert.options.quantization import RECIPES, RecipeName

ROUNDING_FILE = "quantization.json"


class Rounding(NamedTuple):
    """A recipe, and what its training learnt besides weights.

    Attributes:
        recipe: a key of `RECIPES`.
        ranges: what `QuantizationAware.finish` returned.
        float_layers: that were left float.
    """

    recipe: RecipeName
    ranges: Ranges
    float_layers: tuple[str, ...] = ()


@contextlib.contextmanager
def rounded(model: keras.Model, rounding: Rounding) -> Iterator[None]:
    """Inside, the activations of a model whose weights lie on grids are rounded as its recipe says.

    Raises:
        ValueError: see `fixed_ranges`.
    """
    by_rows = RECIPES[rounding.recipe].activations == "rows"
    rows = read_taps(model, rounding.float_layers) if by_rows else []
    with fixed_ranges(model, rounding.ranges):
        before = [tap.transform for tap in rows]
        try:
            for tap in rows:
                tap.transform = round_rows
            yield
        finally:
            for tap, transform in zip(rows, before, strict=True):
                tap.transform = transform
            forget_traces(model)


def save_rounding(rounding: Rounding, folder: str | os.PathLike[str]) -> None:
    """Writes `quantization.json` into an existing folder."""
    ranges = {path: list(span) for path, span in rounding.ranges.items()}
    content = {"recipe": rounding.recipe, "ranges": ranges, "float_layers": list(rounding.float_layers)}
    (Path(folder) / ROUNDING_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def find_rounding(folder: str | os.PathLike[str]) -> Rounding | None:
    """Reads what `save_rounding` wrote; None where there is nothing, as beside a model that stays float."""
    path = Path(folder) / ROUNDING_FILE
    if not path.is_file():
        return None
    content = json.loads(path.read_text())
    ranges = {name: (float(low), float(high)) for name, (low, high) in content["ranges"].items()}
    return Rounding(content["recipe"], ranges, tuple(content["float_layers"]))
