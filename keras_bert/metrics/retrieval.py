"""Retrieval metrics from the ranks of the relevant passages of each query, as in trec_eval."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# The first and the last rank that a passage may have among those with the same score.
Ranks = tuple[int, int]

# Cutoffs of the metrics: 10 as in MS MARCO (MRR@10) and BEIR (nDCG@10, Thakur et al. 2021), and 1 for the first result.
CUTOFF = 10
METRICS = ("ndcg_at_10", "mrr_at_10", "recall_at_1", "recall_at_10", "map")

# Number of queries whose similarities with all passages are in memory at the same time.
_QUERIES_AT_ONCE = 256


def rank_passages(queries: Array, passages: Array, relevant: Sequence[Sequence[int]]) -> list[tuple[Ranks, ...]]:
    """Ranks all passages by cosine, and returns the ranks of each query's relevant passages, see `rank_scores`.

    Args:
        queries: vectors (queries, width).
        passages: vectors (passages, width).
        relevant: the indices of the relevant passages of each query, at least one.

    Raises:
        ValueError: a query has no relevant passage, or one that does not exist; or a vector has a NaN.

    Examples:
        >>> rank_passages(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), [[1, 2]])
        [((1, 1), (2, 2))]
    """
    units = [side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in (queries, passages)]
    ranks: list[tuple[Ranks, ...]] = []
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        for scores, places in zip(units[0][part] @ units[1].T, relevant[part], strict=True):
            ranks.append(rank_scores(scores, places))
    return ranks


def rank_scores(scores: Array, relevant: Sequence[int]) -> tuple[Ranks, ...]:
    """Ranks all passages by their scores (passages,), and returns the ranks of the relevant ones, best first.

    A passage has a first and a last rank, from 1: those that it may have among the passages with the same score.

    Raises:
        ValueError: there is no relevant passage, or one that does not exist; or a score is NaN, which has no rank.

    Examples:
        >>> rank_scores(np.array([0.5, 0.9, 0.5]), [1, 2])
        ((1, 1), (2, 3))
    """
    if not len(relevant) or not all(0 <= place < len(scores) for place in relevant):
        raise ValueError(f"relevant must hold indices of {len(scores)} passages, at least one, got {list(relevant)}")
    for place in np.flatnonzero(np.isnan(scores))[:1]:
        raise ValueError(f"scores must be numbers, got NaN for passage {place}; does the model make NaN vectors?")
    values = scores[np.unique(relevant)][:, None]
    ahead, reached = (compare(scores[None, :], values).sum(axis=1) for compare in (np.greater, np.greater_equal))
    return tuple(sorted(zip((ahead + 1).tolist(), reached.tolist(), strict=True)))


def query_scores(ranks: Sequence[int] | Sequence[Ranks]) -> dict[str, float]:
    """Returns the metrics of one query, each 0 to 1, from the ranks (from 1) of all its relevant passages.

    `recall_at_k` is the share of the relevant passages among the first k; `mrr_at_10` is 1 over the rank of the first
    one, or 0 beyond rank 10; `ndcg_at_10` has gains of 1 and discounts of log2(rank + 1) (Järvelin and Kekäläinen 2002,
    as in trec_eval); `map` is the mean of the precisions at the ranks of all relevant passages.

    Of passages with the same score, `(first, last)` as `rank_scores` returns them, each metric is the mean over all of
    their orders (McSherry and Najork 2008): no order favours a query's own passages.

    Raises:
        ValueError: the ranks are not different, one is below 1, or ranks of equal scores overlap with others.

    Examples:
        >>> scores = query_scores([2, 12])
        >>> scores["mrr_at_10"], scores["recall_at_10"], round(scores["ndcg_at_10"], 4), round(scores["map"], 4)
        (0.5, 0.5, 0.3869, 0.3333)
        >>> query_scores([(1, 2)])["mrr_at_10"]  # rank 1 or 2
        0.75
    """
    spans = np.asarray(ranks, "float64")
    groups, counts = np.unique(np.stack([spans, spans], 1) if spans.ndim == 1 else spans, axis=0, return_counts=True)
    firsts, lasts = groups.T
    fits = (firsts >= 1).all() and (counts <= lasts - firsts + 1).all() and (firsts[1:] > lasts[:-1]).all()
    if not len(spans) or not fits:
        raise ValueError(f"ranks must be different and at least 1, one for each relevant passage, got {list(ranks)}")
    # For each rank that a relevant passage may have: the first rank and the size of its group of equal scores, and the
    # numbers of relevant passages in the group and in front of it.
    sizes = (lasts - firsts + 1).astype(int)
    places = np.concatenate([np.arange(first, last + 1) for first, last in groups])
    start, size, count, before = (
        np.repeat(values, sizes) for values in (firsts, sizes, counts, counts.cumsum() - counts)
    )
    behind, share, near = places - start, count / size, places <= CUTOFF
    # The chance of a relevant passage at a place in front of which there is none.
    hits = np.minimum(count / (size - behind), 1)
    first_hits = hits * np.append(1, np.cumprod(1 - hits)[:-1])
    # Where a relevant passage stands, the others of its group are equally likely at all other places.
    others = behind * (count - 1) / np.maximum(size - 1, 1)
    ideal = (1 / np.log2(np.arange(1, min(len(spans), CUTOFF) + 1) + 1)).sum()
    return {
        "ndcg_at_10": float((share * near / np.log2(places + 1)).sum() / ideal),
        "mrr_at_10": float((first_hits * near / places).sum()),
        "recall_at_1": float((share * (places <= 1)).sum() / len(spans)),
        "recall_at_10": float((share * near).sum() / len(spans)),
        "map": float((share * (before + 1 + others) / places).sum() / len(spans)),
    }


def score_list(scores: Sequence[float], relevances: Sequence[float]) -> dict[str, float]:
    """Returns `ndcg_at_10` and `mrr_at_10`, 0 to 1, of the order that scores give the passages of a query.

    The gain of a passage is its relevance, as in trec_eval; for MRR a passage is relevant if its relevance is above 0.
    Of equal scores the less relevant passage comes first, so that a constant score earns nothing.

    Raises:
        ValueError: the numbers of scores and relevances differ, one is NaN or negative, or no passage is relevant.

    Examples:
        >>> score_list([0.5, 0.9, 0.1], [1.0, 0.0, 0.0])["mrr_at_10"]
        0.5
    """
    values, gains = np.asarray(scores, "float64"), np.asarray(relevances, "float64")
    if values.shape != gains.shape or np.isnan(values).any():
        raise ValueError(f"scores must be a number for each of {len(gains)} relevances, got {list(scores)}")
    if not (gains >= 0).all() or not gains.any():
        raise ValueError(f"relevances must be at least 0, and one of them above 0, got {list(relevances)}")
    ordered = gains[np.lexsort((gains, -values))]
    discounts = 1 / np.log2(np.arange(1, min(len(gains), CUTOFF) + 1) + 1)
    ideal = np.sort(gains)[::-1][:CUTOFF] @ discounts
    first = int(np.flatnonzero(ordered)[0]) + 1
    return {
        "ndcg_at_10": float(ordered[:CUTOFF] @ discounts / ideal),
        "mrr_at_10": 1 / first if first <= CUTOFF else 0.0,
    }


def retrieval_scores(ranks: Sequence[Sequence[int] | Sequence[Ranks]]) -> dict[str, float]:
    """The means of `query_scores` over queries.

    Args:
        ranks: the ranks of the relevant passages of each query, as `rank_passages` returns them.

    Raises:
        ValueError: there are no queries; see also `query_scores`.

    Examples:
        >>> retrieval_scores([(1,), (20,)])["mrr_at_10"]
        0.5
    """
    if not ranks:
        raise ValueError("ranks must hold the ranks of at least one query, got none")
    scores = [query_scores(query) for query in ranks]
    return {name: float(np.mean([query[name] for query in scores])) for name in METRICS}
