"""The properties of a model that the rules compare with its exported file."""

import re
from typing import NamedTuple

from keras_bert.export.layer_names import NORMALIZATION, make_layer_pattern
from keras_bert.options.quantization import RECIPES, RecipeName


class Expected(NamedTuple):
    """The properties of the exported model that the rules compare with a file.

    Vocabulary and labels are those of the training rows, the labels in the order of the classes. The recipe is None for
    a float file; the products of `float_layers` stay float.
    """

    vocabulary_size: int
    labels: tuple[str, ...] = ()
    recipe: RecipeName | None = None
    float_layers: tuple[str, ...] = ()

    @property
    def integers_alone(self) -> bool:
        """True if all operations between inputs and outputs must compute with integers."""
        return self.recipe is not None and RECIPES[self.recipe].activations == "all"

    def stays_float(self, tensor: str) -> bool:
        """True if a tensor is computed by a layer that stays float."""
        return any(re.search(f"/{make_layer_pattern(layer)}/", tensor) for layer in (*self.float_layers, NORMALIZATION))
