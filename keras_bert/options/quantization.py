"""How coarse the numbers of an exported model are."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check

RecipeName = Literal["mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8", "weights_wi4", "weights_wi4_block32", "float16"]
# Which tensors between the products of matrices lie on grids: those around products with weights, with ranges of their
# own; what each such product reads, row by row with ranges that are found when it runs; all; none.
Activations = Literal["products", "rows", "all", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """What of a model lies on which grids.

    Attributes:
        weight_bits: of the kernels; 8 or 4, or 16 for float16.
        activations: see `Activations`.
        block: inputs of a unit that share a scale; None for one scale a unit.
        heads: whether the kernels that make the logits are on grids, too.
    """

    weight_bits: int
    activations: Activations
    block: int | None = None
    heads: bool = True

    @property
    def integers(self) -> bool:
        """Whether weights become whole numbers."""
        return self.weight_bits < 16


RECIPES: dict[RecipeName, Recipe] = {
    "mixed_wi8_ai8": Recipe(weight_bits=8, activations="products", heads=False),
    "dynamic_wi8": Recipe(weight_bits=8, activations="rows"),
    "static_wi8_ai8": Recipe(weight_bits=8, activations="all"),
    "weights_wi4": Recipe(weight_bits=4, activations="rows"),
    "weights_wi4_block32": Recipe(weight_bits=4, activations="rows", block=32),
    "float16": Recipe(weight_bits=16, activations="none"),
}


# Within each block of BERT's graph, the places of the products with weights.
BLOCK_PRODUCTS = (
    *(f"attention/{name}" for name in ("query", "key", "value", "output_projection")),
    *(f"feed_forward/{name}" for name in ("intermediate", "output_projection")),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quantization:
    """How a model is rounded.

    Attributes:
        recipe: a key of `RECIPES`.
        calibration_batches: training batches that show how far activations reach; a training moves the ranges on.
        float_layers: the products with weights that stay float32, by their places in the model, as
            `block_0/attention/key`; `doctor` tells which are worth it.
    """

    recipe: RecipeName = "mixed_wi8_ai8"
    calibration_batches: int = 16
    float_layers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = get_args(RecipeName)
        check("Quantization", "recipe", self.recipe in known, f"be one of {known}", self.recipe)
        count = self.calibration_batches
        check("Quantization", "calibration_batches", count >= 1, "be at least 1", count)
        left, half = list(self.float_layers), self.recipe == "float16"
        check("Quantization", "float_layers", not (left and half), "be left out with the recipe float16", left)
