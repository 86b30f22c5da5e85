"""The order of the passages of each query, and what all of a query's rows have in common."""

import json
import math

import pytest

from components.dsl.errors import InputError
from components.scoring.base import check_test_rows
from components.scoring.reranking import RerankingScoring
from components.scoring.significance import compare_models
from components.scoring.slices import score_slices
from components.sources.table import TextRow

SCORING = RerankingScoring()
# The rows of a query do not stand together; the last query has no order.
ROWS = [
    TextRow("cow", "0", "a fir"),
    TextRow("owl", "1", "an owl"),
    TextRow("Cow", "2", "a cow"),
    TextRow("cow", "1", "cows"),
    TextRow("owl", "0", "an oak"),
    TextRow("fox", "1", "a fox"),
]
RIGHT = [0.0, 5.0, 3.0, 2.0, -9.0, 0.0]
# The passages of the first query in the order 1, 2, 0; those of the second have equal scores.
WRONG = [0.0, 1.0, 2.0, 3.0, 1.0, 0.0]


def test_scores_are_means_over_the_queries_with_an_order():
    assert SCORING.score(ROWS, RIGHT, []).metrics == {"ndcg_at_10": 1.0, "mrr_at_10": 1.0}
    metrics = SCORING.score(ROWS, WRONG, []).metrics
    first = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert metrics == pytest.approx({"ndcg_at_10": (first + 1 / math.log2(3)) / 2, "mrr_at_10": 0.75})
    assert (SCORING.count_units(ROWS), SCORING.defines("mrr_at_10", ROWS[:2])) == (2, False)
    with pytest.raises(
        ValueError, match=r"^rows must hold a query with passages of different relevance, got none in 2$"
    ):
        SCORING.score(ROWS[:2], RIGHT[:2], [])


def test_queries_are_drawn_as_a_whole():
    rows, right, wrong = ([*part] * 20 for part in (ROWS[:5], RIGHT[:5], WRONG[:5]))
    rows = [row._replace(text=f"{row.text} {place // 5}") for place, row in enumerate(rows)]
    difference = compare_models(SCORING, rows, [right], [wrong], [], "mrr_at_10")
    assert difference.difference == pytest.approx(0.25)
    # 40 queries, half of which differ by a half: as many single rows would have an interval half as wide.
    assert difference.interval.high - difference.interval.low == pytest.approx(2 * 1.96 * 0.25 / math.sqrt(40), rel=0.1)
    (whole,) = score_slices(SCORING, rows, wrong, [], "mrr_at_10", {"all": ["yes"] * len(rows)})
    assert whole.low < 0.75 < whole.high
    check_test_rows(SCORING, "ndcg_at_10", rows, rows, [])
    with pytest.raises(InputError, match=r"on them the random order has ndcg_at_10 100\.00 already"):
        check_test_rows(SCORING, "ndcg_at_10", rows, [ROWS[1], ROWS[4]], [])


def test_mistakes_are_queries_whose_best_passage_is_not_first():
    mistakes = SCORING.mistakes(ROWS, WRONG, None)
    assert json.loads(json.dumps(mistakes.as_dict())) == {
        "measure": "rank",
        "rows": [
            {"texts": ["Cow", "a cow"], "truth": "rank 1", "answer": "cows", "value": 2.0, "words": []},
            # Of equal scores the less relevant passage is first, as in the metrics.
            {"texts": ["owl", "an owl"], "truth": "rank 1", "answer": "an oak", "value": 2.0, "words": []},
        ],
        "wrong": 2,
        "total": 2,
    }
    assert SCORING.mistakes(ROWS, RIGHT, None).wrong == 0


def test_words_that_query_and_passage_share_are_the_baselines():
    baselines = SCORING.baselines(ROWS, ROWS, ROWS)
    assert list(baselines) == ["BM25", "TF-IDF cosine"]
    scores = baselines["BM25"]()
    assert [score > 0 for score in scores] == [False, True, True, False, False, True]
    assert SCORING.score(ROWS, baselines["TF-IDF cosine"](), []).metrics["mrr_at_10"] == 1.0
