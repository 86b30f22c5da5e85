"""Pairs of rows that have a label in common, and of rows that have none."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class LabelPairs(NamedTuple):
    """Pairs of rows, by their numbers, and whether both have a label in common; each (pairs,)."""

    first: Array
    second: Array
    is_same: Array


def draw_label_pairs(flags: Array, partner_flags: Array | None = None, *, pairs: int, seed: int = 0) -> LabelPairs:
    """Draws pairs for each row: as many with a label in common as with none (Tunstall et al. 2022, section 3.1).

    Partners of a row are drawn without repetition; once all of them are drawn, they come again in the same order. A
    row with no possible partner of one of the two kinds only has pairs of the other kind. Two rows without any label
    are not a pair.

    `flags` are 1 for each label of a row, else 0 (rows, labels); `partner_flags` are those of the rows in the second
    place, None for the rows themselves, none of which is then its own partner. `pairs` is the number of pairs of each
    kind that a row is in the first place of. The result is in the order of the first rows.
    """
    partners = flags if partner_flags is None else partner_flags
    chance, labelled = np.random.default_rng(seed), np.asarray(partners.any(axis=1))
    drawn: list[tuple[Array, Array, bool]] = []
    for row, labels in enumerate(flags.astype(bool)):
        is_same = np.asarray(partners[:, labels].any(axis=1))
        is_different = ~is_same & (labelled | labels.any())
        if partner_flags is None:
            is_same[row] = is_different[row] = False
        for is_partner, same in ((is_same, True), (is_different, False)):
            candidates = np.flatnonzero(is_partner)
            if len(candidates):
                second = np.resize(chance.permutation(candidates), pairs)
                drawn.append((np.full(pairs, row), second, same))
    if not drawn:
        return LabelPairs(np.zeros(0, int), np.zeros(0, int), np.zeros(0, bool))
    first, second = (np.concatenate(columns) for columns in list(zip(*drawn, strict=True))[:2])
    return LabelPairs(first, second, np.repeat([same for *_, same in drawn], pairs))
