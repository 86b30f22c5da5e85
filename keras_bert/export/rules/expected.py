"""What a file is known to be made from: rules hold it against what the file says."""

import re
from typing import NamedTuple

from keras_bert.export.layer_names import layer_pattern
from keras_bert.options.quantization import RECIPES, RecipeName


class Expected(NamedTuple):
    """What a file must be.

    Attributes:
        pieces: of the vocabulary that its rows were made with.
        labels: of the rows that it was trained on, in the order of their numbers; none where there are no labels.
        recipe: a key of `RECIPES`; None of a file of floats.
        float_layers: that were left float.
    """

    pieces: int
    labels: tuple[str, ...] = ()
    recipe: RecipeName | None = None
    float_layers: tuple[str, ...] = ()

    @property
    def integers_alone(self) -> bool:
        """Whether all that lies between inputs and answers must be integers."""
        return self.recipe is not None and RECIPES[self.recipe].activations == "all"

    def stays_float(self, tensor: str) -> bool:
        """Whether a tensor is made by a layer that was left float."""
        return any(re.search(f"/{layer_pattern(layer)}/", tensor) for layer in self.float_layers)
