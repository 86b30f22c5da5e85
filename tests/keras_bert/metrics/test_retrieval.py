"""The scores of a search equal those of trec_eval, see tests/golden/retrieval.py."""

import json
from pathlib import Path

import numpy as np
import pytest

from keras_bert.metrics.retrieval import METRICS, query_scores, rank_passages, rank_scores, retrieval_scores

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "retrieval.json").read_text())


def test_scores_equal_trec_eval():
    ranks = [
        rank_scores(np.array(row), places) for row, places in zip(GOLDEN["scores"], GOLDEN["relevant"], strict=True)
    ]
    for query, expected in zip(ranks, GOLDEN["expected"], strict=True):
        scores = query_scores(query)
        assert scores.keys() == set(METRICS)
        assert scores == pytest.approx(expected, abs=1e-9)
    means = {name: np.mean([row[name] for row in GOLDEN["expected"]]) for name in METRICS}
    assert retrieval_scores(ranks) == pytest.approx(means, abs=1e-9)
    assert 0.2 < means["ndcg_at_10"] < 0.9, "the reference would tell nothing"


def test_ranks_are_those_of_the_cosines_sorted():
    chance = np.random.default_rng(0)
    queries, passages = chance.normal(size=(300, 8)), chance.normal(size=(50, 8))
    relevant = [chance.choice(50, 3, replace=False).tolist() for _ in queries]
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (
        passages / np.linalg.norm(passages, axis=1, keepdims=True)
    ).T
    orders = np.argsort(-cosines, axis=1, kind="stable").tolist()
    expected = [
        tuple(sorted(order.index(place) + 1 for place in row)) for order, row in zip(orders, relevant, strict=True)
    ]
    assert rank_passages(queries, passages, relevant) == expected
    # The length of a vector does not matter.
    assert rank_passages(7 * queries, passages * chance.uniform(1, 9, (50, 1)), relevant) == expected


def test_equal_scores_rank_by_their_place_so_that_a_model_that_tells_nothing_apart_scores_by_chance():
    assert [rank_scores(np.zeros(5), [place]) for place in range(5)] == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.parametrize("relevant", [[], [5], [-1]])
def test_relevant_passages_must_exist(relevant):
    with pytest.raises(ValueError, match="relevant must hold indices of 5 passages, at least one"):
        rank_scores(np.zeros(5), relevant)


def test_nan_has_no_rank():
    """Comparisons with NaN would rank every passage first."""
    with pytest.raises(ValueError, match="scores must be numbers, got NaN for passage 1"):
        rank_scores(np.array([0.5, np.nan]), [0])
    with pytest.raises(ValueError, match="scores must be numbers, got NaN for passage 0"):
        rank_passages(np.full((1, 2), np.nan), np.ones((3, 2)), [[1]])


def test_a_passage_counts_once():
    """Twice, it had an nDCG of 1.23."""
    assert rank_scores(np.array([0.5, 0.9]), [1, 1]) == (1,)
    for ranks in ((1, 1), (0, 1), ()):
        with pytest.raises(ValueError, match="ranks must be different and at least 1, one for each relevant passage"):
            query_scores(ranks)


def test_there_must_be_a_query():
    with pytest.raises(ValueError, match="ranks must hold those of at least one query"):
        retrieval_scores([])
