"""Random numbers that follow from where they stand: the same on any device, in any batch, however it is cut."""

from typing import Any

from keras import ops


def mix(x: Any) -> Any:
    """A permutation of the 32-bit numbers whose every output bit depends on every input bit; uint32 of any shape.

    `lowbias32` of https://github.com/skeeto/hash-prospector, with the constants found there later: bias 0.107.
    """
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, _number(shift)))
        x = ops.multiply(x, _number(factor))
    return ops.bitwise_xor(x, ops.bitwise_right_shift(x, _number(15)))


def draw_numbers(places: Any, first: Any, second: Any) -> Any:
    """A number for each place; all uint32, broadcast."""
    # A permutation of its own for each seed, not one sequence begun at different places.
    return mix(ops.multiply(ops.add(places, first), ops.bitwise_or(second, _number(1))))


def row_seeds(seed: Any, positions: Any, ids: Any) -> tuple[Any, Any]:
    """Two seeds for each place of each row: they depend on the seed, the row's own numbers and the place alone.

    Args:
        seed: (2,) of any integer type.
        positions: int32 (batch, places), different within a row.
        ids: int32 (batch, places).

    Returns:
        Both uint32 (batch, places).
    """
    seed, positions = ops.cast(seed, "uint32"), ops.cast(positions, "uint32")
    row = ops.sum(mix(ops.bitwise_xor(mix(positions), ops.cast(ids, "uint32"))), axis=1, keepdims=True)
    first = mix(ops.bitwise_xor(mix(ops.add(row, positions)), seed[0]))
    return first, mix(ops.bitwise_xor(first, seed[1]))


def gumbels(places: Any, first: Any, second: Any) -> Any:
    """Numbers of the Gumbel distribution: the largest of scores and these is drawn from the scores' softmax.

    -log(-log(1 - u)) with u drawn as in `draw_numbers` (Maddison et al. 2014, section 2); near 0, where the largest
    come from, u is exact to 2^-32.

    Args:
        places: as in `draw_numbers`, as are the others.
        first: see there.
        second: see there.

    Returns:
        float32, of the shape that all three broadcast to.
    """
    drawn = ops.cast(draw_numbers(places, first, second), "float32")
    return ops.negative(ops.log(ops.negative(ops.log1p(ops.negative((drawn + 0.5) * 2.0**-32)))))


def _number(value: int) -> Any:
    return ops.convert_to_tensor(value, "uint32")
