"""Distances between attention heads, and their picture in the plane (Clark et al. 2019, section 6)."""

import math

import numpy as np

from keras_bert.explain.tokens import Array

# Numbers of one step in memory, 8 bytes each; there are a few such arrays at a time.
_NUMBERS_AT_ONCE = 2**22


def distance_sums(weights: Array) -> Array:
    """The Jensen-Shannon distances between heads, with base 2, added up over the queries of one text.

    The distance is the square root of the divergence: the entropy of the mean of two distributions less the mean of
    their entropies, in bits. Weights (heads, queries, keys) or (layers, heads, queries, keys) give a symmetric float64
    (layers x heads, layers x heads).
    """
    from scipy.special import entr

    *layers_and_heads, queries, keys = weights.shape
    heads = math.prod(layers_and_heads)
    sums = np.zeros((heads, heads))
    rows = max(_NUMBERS_AT_ONCE // (heads * keys), 1)
    for start in range(0, queries, rows):
        shares = np.asarray(weights[..., start : start + rows, :], "float64").reshape(heads, -1, keys)
        entropy = entr(shares).sum(axis=-1)
        for head in range(heads - 1):
            others = slice(head + 1, None)
            mixed = entr((shares[head] + shares[others]) / 2).sum(axis=-1)
            divergence = mixed - (entropy[head] + entropy[others]) / 2
            # Rounding may be below 0.
            sums[head, others] += np.sqrt(np.maximum(divergence, 0) / math.log(2)).sum(axis=-1)
    return sums + sums.T


def plane_positions(distances: Array) -> Array:
    """Points (points, 2) in the plane with distances close to given ones, by classical scaling (Torgerson 1952).

    The points are the first two principal coordinates. Their mean is 0, and the point that is farthest from it along an
    axis, the first of several, lies on its positive side: the same distances give the same picture.
    """
    count = len(distances)
    centering = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centering @ np.square(distances) @ centering)
    # Rounding must not become a second coordinate, as the square root makes it larger.
    values = np.where(values > 1e-12 * max(values[-1], 0), values, 0.0)
    positions = np.zeros((count, 2))
    axes = min(count, 2)
    positions[:, :axes] = (vectors * np.sqrt(values))[:, ::-1][:, :axes]
    for axis in positions.T:
        farthest = np.abs(axis).max()
        # Of two points that are equally far, rounding must not choose.
        if axis[np.argmax(np.abs(axis) >= farthest * (1 - 1e-6))] < 0:
            axis *= -1
    return positions
