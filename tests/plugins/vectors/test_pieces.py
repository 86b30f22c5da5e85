"""Documents that are searched by their sentences, too."""

import numpy as np
import pytest

from plugins.vectors.pieces import Pieces
from tests.keras_bert.recipes.test_texts import TEXTS, embedding

DOCUMENTS = [f"{TEXTS[0]}. {TEXTS[5]}! {TEXTS[9]}?", TEXTS[2], f"{TEXTS[7]}.", f"{TEXTS[3]}. {TEXTS[8]}.", ""]


def test_a_document_stands_before_its_sentences_where_it_has_several():
    pieces = Pieces.of(DOCUMENTS)
    assert pieces.starts.tolist() == [0, 4, 5, 6, 9]
    assert [pieces.texts[start] for start in pieces.starts] == DOCUMENTS
    assert pieces.texts[1:4] == [f"{TEXTS[0]}.", f"{TEXTS[5]}!", f"{TEXTS[9]}?"]
    assert (Pieces.of([]).texts, Pieces.of([]).starts.tolist()) == ([], [])
    similarities = np.random.default_rng(0).random((7, 10))
    bounds = [*pieces.starts, 10]
    expected = [[row[bounds[i] : bounds[i + 1]].max() for i in range(5)] for row in similarities]
    np.testing.assert_array_equal(pieces.pool(similarities), expected)


@pytest.mark.usefixtures("eager")
def test_a_search_names_the_nearest_text_of_each_document():
    task, documents = embedding(), DOCUMENTS[:-1]
    pieces = Pieces.of(documents)
    vectors = task.predict(pieces.texts, prompt="passage")
    queries = [f"{TEXTS[5]}!", TEXTS[2], f"{TEXTS[3]}. {TEXTS[8]}."]
    results = pieces.search(task, queries, top_k=4, vectors=vectors)
    assert [(row[0].text, row[0].index) for row in results] == list(zip(queries, (0, 1, 3), strict=True))
    similarities = task.compare(task.predict(queries, prompt="query"), vectors)
    for row, expected in zip(results, pieces.pool(similarities), strict=True):
        assert [match.index for match in row] == np.argsort(-expected, kind="stable").tolist()
        assert [match.similarity for match in row] == sorted(expected, reverse=True)
    assert pieces.search(task, queries, top_k=2) == [row[:2] for row in results]
    with pytest.raises(ValueError, match="got 'vectors of the space another'"):
        pieces.search(task, queries, vectors={"vector": list(vectors), "vector_space": ["another"] * len(vectors)})
    with pytest.raises(ValueError, match=r"^Pieces\.top_k must be at least 1, got 0"):
        pieces.search(task, queries, top_k=0)
    with pytest.raises(ValueError, match=r"^Pieces\.texts must hold at least one document, got \[\]"):
        Pieces.of([]).search(task, queries)
