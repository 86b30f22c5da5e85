"""Distances between the words of a dependency tree, and scores of predicted ones (Hewitt and Manning 2019)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from plugins.explain.tokens import Array

# The numbers of words of the sentences that Spearman's correlation is averaged over.
_SHORTEST, _LONGEST = 5, 50


def tree_distances(heads: Sequence[int]) -> Array:
    """The number of edges between each two words of a dependency tree, float64 (words, words).

    The head of a word is a number from 1; 0 for the root, as in CoNLL-U.
    """
    from scipy.sparse.csgraph import shortest_path

    count, numbers = len(heads), list(heads)
    are_numbers = all(isinstance(head, int | np.integer) and 0 <= head <= count for head in numbers)
    edges = np.zeros((count, count))
    if are_numbers:
        for word, head in enumerate(numbers):
            if head:
                edges[word, head - 1] = 1
    if not count:
        return edges
    distances = shortest_path(edges, directed=False, unweighted=True)
    # A connected graph with one edge fewer than words is a tree.
    if not are_numbers or numbers.count(0) != 1 or not np.all(np.isfinite(distances)):
        raise ValueError(
            "heads must be a tree: 0 for one word, and for each other the number of a word, from 1, through which it "
            f"reaches that, got {numbers}"
        )
    return distances


def spanning_tree(distances: Array) -> set[tuple[int, int]]:
    """The edges of the tree with the smallest sum of distances, each as its two words, the smaller number first."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    # SciPy takes 0 as no edge; a number that all edges have more changes no tree.
    rows, columns = minimum_spanning_tree(distances + 1).nonzero()
    return {(int(min(edge)), int(max(edge))) for edge in zip(rows, columns, strict=True)}


def attachment_score(predicted: Iterable[Array], trees: Iterable[Array]) -> float:
    """The share of the edges of trees that the spanning trees of predicted distances have, without directions.

    The "UUAS" of Hewitt and Manning 2019, section 4, with punctuation marks; NaN without an edge. Distances of each
    sentence are (words, words).

    Examples:
        >>> tree = tree_distances([2, 0, 2])
        >>> attachment_score([tree], [tree]), attachment_score([tree[::-1, ::-1]], [tree_distances([0, 1, 1])])
        (1.0, 0.5)
    """
    correct, total = 0, 0
    for distances, tree in zip(predicted, trees, strict=True):
        edges = {(int(one), int(other)) for one, other in np.argwhere(np.triu(tree == 1))}
        correct += len(edges & spanning_tree(distances))
        total += len(edges)
    return correct / total if total else float("nan")


def distance_correlation(predicted: Iterable[Array], trees: Iterable[Array]) -> float:
    """Spearman's correlation of predicted distances with those in trees: the mean over the lengths of sentences.

    The correlation of the distances from each word, averaged over the words of all sentences of a length, then over
    lengths of 5 to 50 words: the "DSpr." of Hewitt and Manning 2019, section 4. NaN without such a sentence.
    Distances of each sentence are (words, words).

    Examples:
        >>> tree = tree_distances([0, 1, 2, 3, 4])
        >>> round(distance_correlation([tree**2], [tree]), 6), round(distance_correlation([-tree], [tree]), 6)
        (1.0, -1.0)
    """
    from scipy.stats import rankdata

    by_length = defaultdict(list)
    for distances, tree in zip(predicted, trees, strict=True):
        if _SHORTEST <= len(tree) <= _LONGEST:
            # Of each row (rows,); 0 where all numbers of a row are the same.
            ranks = [rankdata(array, axis=1) for array in (distances, tree)]
            centered = [rank - rank.mean(axis=1, keepdims=True) for rank in ranks]
            norms = np.prod([np.linalg.norm(rank, axis=1) for rank in centered], axis=0)
            by_length[len(tree)].append((centered[0] * centered[1]).sum(axis=1) / np.where(norms, norms, 1))
    return float(np.mean([np.mean(rows) for rows in by_length.values()])) if by_length else float("nan")
