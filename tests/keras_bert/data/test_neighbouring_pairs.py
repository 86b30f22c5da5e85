"""New pairs are near, are no rows, and are always the same."""

import itertools

import pytest

from keras_bert.data.neighbouring_pairs import neighbouring_pairs

ANIMALS = ["a cow and a hen", "a cow and an owl", "one hen and one cow"]
PLANTS = ["oaks beside elms", "elms beside oaks", "firs beside oaks"]


@pytest.mark.parametrize("count", [1, 2])
def test_partners_are_among_the_nearest_texts(count):
    cows, oaks = (
        [f"{start} {number:03}" for number in range(12)] for start in ("the cow is eating", "oaks grow beside")
    )
    texts, seconds = zip(*itertools.product((cows[0], oaks[0]), [*cows[3:6], *oaks[3:6]]), strict=True)
    pairs = [*zip(*neighbouring_pairs([*texts, *cows, *oaks], [*seconds, *oaks, *cows], count), strict=True)]
    assert len(pairs) == 24 * count
    assert all(first[:8] == second[:8] for first, second in pairs)
    assert neighbouring_pairs(texts, seconds, count) == ([], []), "all pairs are rows"


def test_a_seed_decides_and_swapped_rows_are_rows():
    texts, seconds = ANIMALS + PLANTS, [*ANIMALS[1:], *PLANTS, ANIMALS[0]]
    rows = {frozenset(pair) for pair in zip(texts, seconds, strict=True)}
    first = neighbouring_pairs(texts, seconds, 2, seed=1)
    assert first == neighbouring_pairs(texts, seconds, 2, seed=1)
    assert first != neighbouring_pairs(texts, seconds, 2, seed=2)
    pairs = {frozenset(pair) for pair in zip(*first, strict=True)}
    assert len(pairs) == len(first[0]), "no pair in both orders"
    assert not pairs & rows
