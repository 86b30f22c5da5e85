"""Sentence-order prediction: pairs of neighbouring segments, in order or swapped (Lan et al. 2020, section 3.1)."""

import numpy as np

from components.rows.sentence_pairs import Pairs, SegmentBounds, end_of_run, keep_longest, target_length, uniform_draws


def make_ordered_pairs(
    documents: list[SegmentBounds], *, room: int, short_share: float, rng: np.random.Generator
) -> Pairs:
    """Pairs of at most `room` tokens that cover every document: A and the text right after it, half of them swapped.

    Segments are collected as for next sentence prediction, but at least two; a last segment that remains alone is cut
    in two. Pairs that are too long are cut at their outer ends, so that A and B stay neighbours; ALBERT's released code
    cuts at all ends.

    A share of the pairs, `short_share`, has a random shorter target length.
    """
    draw = uniform_draws(rng)
    pairs = []
    for document in documents:
        bounds = document.bounds.tolist()
        start = 0
        while start < len(bounds) - 1:
            end = min(
                max(end_of_run(bounds, start, target_length(room, short_share, draw)), start + 2), len(bounds) - 1
            )
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
