"""Vectors, by their cosines."""

import numpy as np
import pytest

from components.scoring.regression import EmbeddingScoring
from components.sources.table import TextRow
from keras_bert.tasks.embedding import Embedding

SCORING = EmbeddingScoring()
VECTORS = {"a": [3.0, 4.0], "b": [-4.0, 3.0], "c": [0.0, 0.5], "zero": [0.0, 0.0]}
TASK = Embedding.__new__(Embedding)
TASK.similarity_function = "cosine"
TASK.predict = lambda texts: np.array([VECTORS[text] for text in texts], "float32")


def test_a_task_is_asked_for_the_cosines_of_pairs():
    rows = [TextRow("a", "", "a"), TextRow("a", "", "b"), TextRow("c", "", "a"), TextRow("a", "", "zero")]
    assert SCORING.answer(TASK, rows) == pytest.approx([1.0, 0.0, 0.8, 0.0])


def test_cosines_are_correlated_with_the_likeness_of_the_texts():
    rows = [TextRow("a", "1.0", "a"), TextRow("a", "-0.5", "b"), TextRow("c", "0.9", "a")]
    scores = SCORING.score(rows, [0.9, 0.1, 0.5], [])
    assert scores.metrics["spearman"] == pytest.approx(1.0)
    assert list(scores.metrics) == list(SCORING.metrics([])) == ["spearman", "pearson"]


def test_words_are_the_baseline_and_a_random_order_is_trivial():
    rows = [TextRow("ship sail", "1", "sail ship"), TextRow("cow barn", "0", "ship sail")]
    cosines = SCORING.baselines(rows, rows, rows)["TF-IDF cosine"]()
    assert cosines == pytest.approx([1.0, 0.0])
    name, answers = SCORING.trivial(rows, rows)
    assert name == "random order"
    assert SCORING.score(rows, answers, []).metrics == {"spearman": 0.0, "pearson": 0.0}
