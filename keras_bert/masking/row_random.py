"""Random numbers for each row, which depend only on the row's key, not on the batch, the order or the process."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

# SplitMix64 (Steele, Lea, Flood 2014, "Fast Splittable Pseudorandom Number Generators"; constants of Vigna's code).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def row_keys(seed: int, epochs: Any, indices: Any) -> Keys:
    """Hashes the data's seed, the epoch (a number or (rows,)) and each row's index in the data to its key (rows,).

    A key seeds the row's random numbers.
    """
    key = _mix(np.full(1, seed % 2**64, np.uint64))
    for number in (epochs, indices):
        key = _mix(key + np.atleast_1d(np.asarray(number)).astype(np.uint64) * _GAMMA)
    return key


class RowRandom:
    """A random number generator with an independent stream for every row, seeded by the row's key."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._used = 0

    def bits(self, columns: int, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint64]:
        """The next 64-bit numbers (rows, columns) of all streams, or of the streams of some rows."""
        keys = self._keys if rows is None else self._keys[rows]
        steps = np.arange(self._used + 1, self._used + 1 + columns, dtype=np.uint64) * _GAMMA
        self._used += columns
        return _mix(keys[:, None] + steps)

    def uniform(self, columns: int, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """The next numbers (rows, columns), uniform in [0, 1)."""
        return (self.bits(columns, rows) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambles an array in place; callers pass a new array."""
    numbers ^= numbers >> np.uint64(30)
    numbers *= _FIRST
    numbers ^= numbers >> np.uint64(27)
    numbers *= _SECOND
    numbers ^= numbers >> np.uint64(31)
    return numbers
