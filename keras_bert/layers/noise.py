"""A counter-based random number generator: the numbers do not depend on the device or the batch."""

from typing import Any

from keras import ops

from keras_bert.core.tensors import Tensor


def mix(x: Tensor) -> Tensor:
    """An integer hash, uint32 of any shape: a bijection in which every output bit depends on every input bit.

    `lowbias32` of https://github.com/skeeto/hash-prospector, with its later constants: bias 0.107.
    """
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, _number(shift)))
        x = ops.multiply(x, _number(factor))
    return ops.bitwise_xor(x, ops.bitwise_right_shift(x, _number(15)))


def random_bits(counters: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """A random uint32 for each counter and pair of seeds; the arguments are uint32 and broadcast."""
    # Each seed has its own permutation; seeds are not offsets into one sequence.
    return mix(ops.multiply(ops.add(counters, first), ops.bitwise_or(second, _number(1))))


def seeded_bits(counters: Tensor, seed: Tensor) -> Tensor:
    """A random uint32 for each counter; the seed, uint32 (2,), is the number of a layer and that of its call."""
    # A permutation for each layer and call: layers that share one draw the same sequence from different offsets.
    first = mix(seed[0])
    return random_bits(counters, first, mix(ops.bitwise_xor(first, seed[1])))


def row_seeds(seed: Tensor, positions: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Two seeds for each position of each row: they depend only on `seed`, the contents of the row and the position.

    seed (2,), positions, distinct within a row, and ids int32 (batch, predictions) -> twice uint32 (batch,
    predictions).
    """
    seed, positions = ops.cast(seed, "uint32"), ops.cast(positions, "uint32")
    row = ops.sum(mix(ops.bitwise_xor(mix(positions), ops.cast(ids, "uint32"))), axis=1, keepdims=True)
    first = mix(ops.bitwise_xor(mix(ops.add(row, positions)), seed[0]))
    return first, mix(ops.bitwise_xor(first, seed[1]))


def gumbel_noise(counters: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Gumbel noise: argmax(scores + noise) is a sample from softmax(scores) (Maddison et al. 2014, section 2).

    The noise is -log(-log(1 - u)) with uniform u of `random_bits`, float32 of the broadcast shape. Near 0, which gives
    the largest noise, u has a resolution of 2^-32.
    """
    numbers = ops.cast(random_bits(counters, first, second), "float32")
    return ops.negative(ops.log(ops.negative(ops.log1p(ops.negative((numbers + 0.5) * 2.0**-32)))))


def _number(value: int) -> Any:
    return ops.convert_to_tensor(value, "uint32")
