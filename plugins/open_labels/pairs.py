"""Pairs of texts with the same label, from which an encoder learns what labels have in common."""

from collections.abc import Sequence

import numpy as np


def draw_partners(labels: Sequence[str], seed: int = 0) -> list[int]:
    """For each row the index of another row with its label; each row is the partner of one row.

    The rows of a label form a random cycle. The only row of a label is its own partner.
    """
    chance, names = np.random.default_rng(seed), np.array(labels)
    partners = np.zeros(len(labels), int)
    for label in sorted(set(labels)):
        rows = chance.permutation(np.flatnonzero(names == label))
        partners[rows] = np.roll(rows, 1)
    return [int(row) for row in partners]
