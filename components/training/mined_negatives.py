"""Negatives of queries: passages that lie near to them and are none of theirs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.examples.retrieval import SplitCorpus
from components.sources.retrieval import QueryRow
from keras_bert.options.fine_tuning import HardNegatives

# Queries whose cosines with all passages are in memory at once.
_QUERIES_AT_ONCE = 256


class MinedRows(NamedTuple):
    """Rows with further negatives; `filtered` candidates were too near, and so are likely answers."""

    rows: list[QueryRow]
    mined: int
    filtered: int
    without: int


def mine_rows(
    rows: Sequence[QueryRow],
    embed_queries: Callable[[list[str]], Array],
    embed_passages: Callable[[list[str]], Array],
    options: HardNegatives,
) -> MinedRows:
    """Adds to each row the passages of other queries that are nearest to its query, but not too near.

    `embed_queries` and `embed_passages` turn texts into vectors (texts, width).
    """
    corpus = SplitCorpus.of(rows)
    queries, passages = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (embed_queries([row.query for row in rows]), embed_passages(corpus.passages))
    )
    mined, filtered = list[QueryRow](), 0
    for start in range(0, len(rows), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        cosines = queries[part] @ passages.T
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, : options.candidates]
        of_rows = zip(rows[part], corpus.relevant[part], corpus.negatives[part], cosines, nearest, strict=True)
        for row, relevant, row_negatives, scores, places in of_rows:
            others = [int(place) for place in places if place not in relevant and place not in row_negatives]
            least = min(float(scores[place]) for place in relevant)
            limit = least - options.margin * abs(least)
            far = [place for place in others if scores[place] <= limit]
            filtered += len(others) - len(far)
            negatives = [corpus.passages[place] for place in far[: options.count]]
            mined.append(row._replace(negatives=(*row.negatives, *negatives)))
    added = [len(after.negatives) - len(before.negatives) for after, before in zip(mined, rows, strict=True)]
    return MinedRows(mined, sum(added), filtered, added.count(0))
