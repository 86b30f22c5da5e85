"""Negatives are near to a query, and are neither its passages nor likely answers."""

import numpy as np
import pytest

from components.sources.retrieval import QueryRow
from components.training.mined_negatives import mine_rows
from keras_bert.options.fine_tuning import HardNegatives

# Angles in degrees: the nearer to the query's 0, the likelier an answer.
ANGLES = {"q": 0, "right": 20, "RIGHT ": 20, "too near": 21, "near": 35, "Near": 35, "next": 50, "far": 120}
ROWS = [
    QueryRow("q", ("right",), ("next",)),
    QueryRow("far", ("RIGHT ", "too near")),
    QueryRow("next", ("near", "Near", "far")),
]


def embed(texts):
    angles = np.radians([ANGLES[text] for text in texts])
    return 3.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def mine(rows=ROWS, **options):
    return mine_rows(rows, embed, embed, HardNegatives(**options))


def test_the_nearest_passages_that_are_no_answers_become_negatives():
    result = mine(count=2, margin=0.05)
    # Its copy in other letters is not a negative; `too near` is filtered; what it had stays in front, and once.
    assert result.rows[0] == QueryRow("q", ("right",), ("next", "near", "far"))
    assert [row._replace(negatives=()) for row in result.rows] == [row._replace(negatives=()) for row in ROWS]
    assert (result.mined, result.without) == (2, 2)


def test_another_spelling_of_the_query_has_the_same_answers():
    rows = [QueryRow("q", ("right",)), QueryRow("Q ", ("near",)), QueryRow("next", ("far",))]
    result = mine_rows(rows, lambda texts: embed([text.strip().lower() for text in texts]), embed, HardNegatives())
    assert [row.negatives for row in result.rows[:2]] == [("far",), ("far",)]


def test_a_smaller_margin_lets_a_likely_answer_through():
    """The fault that the margin is there for: another text that answers the query becomes its negative."""
    assert "too near" not in mine(margin=0.05).rows[0].negatives
    assert "too near" in mine(margin=0.0).rows[0].negatives
    assert mine(margin=0.05).filtered > mine(margin=0.0).filtered
    # By far more than any candidate: nothing is left, and it is counted.
    nothing = mine([QueryRow("q", ("right",)), QueryRow("near", ("near",))], margin=0.9)
    assert (nothing.mined, nothing.without) == (0, 2)


def test_the_limit_is_that_of_the_worst_passage_and_is_below_it_where_its_cosine_is_negative():
    rows = [QueryRow("q", ("right", "far")), QueryRow("next", ("near",))]
    assert mine(rows, margin=0.05).rows[0].negatives == ()
    limit = np.cos(np.radians(120)) - 0.05 * 0.5
    assert limit < np.cos(np.radians(120)) < np.cos(np.radians(35))


@pytest.mark.parametrize(("count", "candidates", "expected"), [(1, 50, 1), (5, 50, 2), (5, 3, 1)])
def test_counts_and_candidates(count, candidates, expected):
    rows = [row._replace(negatives=()) for row in ROWS]
    result = mine(rows, count=count, candidates=candidates)
    assert len(result.rows[0].negatives) == expected
