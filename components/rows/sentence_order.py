"""Pairs of neighbouring stretches of text, in order or swapped (Lan et al. 2020, section 3.1)."""

import numpy as np

from components.rows.sentence_pairs import Document, Pairs, aim, fill, keep_longest, uniform


def make_ordered_pairs(documents: list[Document], *, room: int, short_share: float, rng: np.random.Generator) -> Pairs:
    """Pairs of at most `room` tokens that cover every document: A and the stretch right after it, half of them swapped.

    Segments are gathered as for next sentences, but at least two; the last segment of a document, if it is left alone,
    is cut in two. What is too long is cut where the two do not meet, so that they stay neighbours; ALBERT's own code
    cuts at all ends.

    Args:
        documents: what to cover.
        room: the most tokens of A and B together.
        short_share: share of the pairs with a random shorter length.
        rng: makes every choice.
    """
    draw = uniform(rng)
    pairs = []
    for document in documents:
        bounds = document.bounds.tolist()
        start = 0
        while start < len(bounds) - 1:
            end = min(max(fill(bounds, start, aim(room, short_share, draw)), start + 2), len(bounds) - 1)
            if end - start > 1:
                middle = bounds[start + 1 + int(draw() * (end - start - 1))]
            else:
                middle = bounds[start] + 1 + int(draw() * (bounds[end] - bounds[start] - 1))
            if middle < bounds[end]:
                pairs.append((bounds[start], middle, middle, bounds[end], draw() < 0.5))
            start = end
    cut = np.array(pairs, np.int64).reshape(-1, 5)
    first, second = keep_longest(cut, room)
    cut[:, 0], cut[:, 3] = cut[:, 1] - first, cut[:, 2] + second
    swapped = cut[:, 4] == 1
    cut[swapped, :4] = cut[swapped][:, [2, 3, 0, 1]]
    return cut
