"""New rows for the student of a task that reads two texts: a text beside one that has words in common with it."""

import random
from collections.abc import Sequence

from keras_bert.core.checks import check

# The second texts from which the partners of a first text are drawn: those that are nearest to it.
_NEIGHBOURS = 8


def neighbouring_pairs(
    texts: Sequence[str], seconds: Sequence[str], count: int, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Pairs that stand in no row, in either order: each first text with some of the second texts nearest to it.

    Random pairs have little in common, so that nearly all of them have the same answer; those of neighbours are as
    hard as rows are. The nearest texts have the greatest cosines of TF-IDF vectors of two to four characters.
    Each different first text is in at most `count` new pairs, 1 to 8; the seed chooses among its eight nearest texts.

    Examples:
        >>> rows = ["a red car", "a blue car"], ["the red car", "the blue car"]
        >>> neighbouring_pairs(*rows, count=1)
        (['a red car', 'a blue car'], ['the blue car', 'the red car'])
    """
    check("neighbouring_pairs", "count", 1 <= count <= _NEIGHBOURS, f"be 1 to {_NEIGHBOURS}", count)
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    firsts, others = sorted(set(texts)), sorted(set(seconds))
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=50_000, sublinear_tf=True)
    grams.fit([*firsts, *others])
    index = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(others)), metric="cosine").fit(grams.transform(others))
    taken, chance, pairs = set(map(frozenset, zip(texts, seconds, strict=True))), random.Random(seed), []
    for first, places in zip(firsts, index.kneighbors(grams.transform(firsts), return_distance=False), strict=True):
        near = [others[place] for place in places if others[place] != first and {first, others[place]} not in taken]
        for second in chance.sample(near, min(count, len(near))):
            taken.add(frozenset((first, second)))
            pairs.append((first, second))
    chance.shuffle(pairs)
    return [first for first, _ in pairs], [second for _, second in pairs]
