"""Quantization recipes, and the settings of a quantization."""

import dataclasses
from typing import Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderShape
from keras_bert.core.validation import validated_dataclass

RecipeName = Literal[
    "mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8", "static_wi8_ai16", "weights_wi4", "weights_wi4_block32", "float16"
]
# The quantized activations: those around products with weights, with ranges of training; the inputs of these products,
# row by row with ranges that the runtime measures; all; none.
Activations = Literal["products", "rows", "all", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """The numbers of weights and activations of a quantized model.

    Attributes:
        weight_bits: bits of a weight of a kernel: 8 or 4, or 16 for float16.
        activations: the quantized activations, see `Activations`.
        activation_bits: bits of a quantized activation: 8, or 16 with zero points of 0.
        block: number of inputs of a unit that share a scale; None for one scale a unit.
        heads: whether the kernels that compute the logits are quantized, too.
    """

    weight_bits: int
    activations: Activations
    activation_bits: int = 8
    block: int | None = None
    heads: bool = True

    @property
    def integers(self) -> bool:
        """Whether weights are whole numbers."""
        return self.weight_bits < 16

    @property
    def has_int8_ranges(self) -> bool:
        """Whether activations have ranges of int8, as a training learns them."""
        return self.integers and self.activation_bits == 8


RECIPES: dict[RecipeName, Recipe] = {
    "mixed_wi8_ai8": Recipe(weight_bits=8, activations="products", heads=False),
    "dynamic_wi8": Recipe(weight_bits=8, activations="rows"),
    "static_wi8_ai8": Recipe(weight_bits=8, activations="all"),
    "static_wi8_ai16": Recipe(weight_bits=8, activations="all", activation_bits=16),
    "weights_wi4": Recipe(weight_bits=4, activations="rows"),
    "weights_wi4_block32": Recipe(weight_bits=4, activations="rows", block=32),
    "float16": Recipe(weight_bits=16, activations="none"),
}


def undivided_inputs(recipe: RecipeName, shape: EncoderShape) -> list[int]:
    """The numbers of inputs of an encoder's products that the blocks of a recipe do not divide."""
    block = RECIPES[recipe].block
    inputs = [shape.hidden_size, shape.attention_size, shape.intermediate_size, shape.embedding_size]
    # The second matrix of a factorized embedding is a kernel, too.
    sizes = [size for size in (*inputs, shape.embedding_rank) if size is not None]
    return [] if block is None else [size for size in sizes if size % block]


# The names of the products with weights within a block of BERT's graph.
BLOCK_PRODUCTS = (
    *(f"attention/{name}" for name in ("query", "key", "value", "output_projection")),
    *(f"feed_forward/{name}" for name in ("intermediate", "output_projection")),
)


@validated_dataclass
class Quantization:
    """Settings of the quantization of a model.

    Attributes:
        recipe: the numbers of weights and activations, see `RECIPES`: `mixed_wi8_ai8`, `dynamic_wi8`, `static_wi8_ai8`,
            `static_wi8_ai16`, `weights_wi4`, `weights_wi4_block32` or `float16`.
        calibration_batches: number of training batches, of at most one epoch, whose activations give the first
            activation ranges; training moves the ranges.
        float_layers: names of the products with weights that stay float32, such as `block_0/attention/key`; the command
            `doctor` measures their worth.

    Examples:
        >>> Quantization(float_layers=("block_0/attention/key",)).recipe
        'mixed_wi8_ai8'
    """

    recipe: RecipeName = "mixed_wi8_ai8"
    calibration_batches: pydantic.PositiveInt = 16
    float_layers: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _check_float_layers(self) -> Self:
        useful = not self.float_layers or self.recipe != "float16"
        check("Quantization", "float_layers", useful, "be left out with the recipe float16", list(self.float_layers))
        return self
