"""Detects from a kernel's values whether it was quantized; model files do not record it."""

from typing import Any

import numpy as np

from keras_bert.options.quantization import RECIPES

# Distance from a whole number of steps: float32 leaves 1e-5 of the largest, 127, and unquantized weights nearly 0.5.
_ROUNDING = 1e-2


def grid_bits(kernel: Any) -> int | None:
    """The bits of a kernel's quantization grid; None for a kernel (inputs, units) that was not quantized.

    A quantization grid is symmetric, with one scale for each unit, or for each unit and block of inputs, see `RECIPES`:
    the largest value of a block is the last step, and all others are whole numbers of steps.
    """
    grids = {(recipe.weight_bits, recipe.block) for recipe in RECIPES.values() if recipe.integers}
    for bits, block in sorted(grids, key=lambda grid: (grid[0], grid[1] or 0)):
        if _lies_on_grid(np.asarray(kernel, "float64"), 2 ** (bits - 1) - 1, block or len(kernel)):
            return bits
    return None


def _lies_on_grid(kernel: Any, last_step: int, block: int) -> bool:
    inputs, units = kernel.shape
    # Of one value a block, every kernel consists of last steps.
    if block < 2 or inputs % block:
        return False
    blocks = kernel.reshape(-1, block, units)
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    steps = blocks / np.where(largest, largest, 1.0) * last_step
    return bool(largest.any() and (np.abs(steps - np.round(steps)) < _ROUNDING).all())
