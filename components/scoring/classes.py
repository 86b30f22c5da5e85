"""How good, how big and how fast a classifier is, and the baselines that it must beat."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

# Passages that one latency figure is the median of.
TIMED_PASSAGES = 100


class Row(NamedTuple):
    """A labelled row; `second_text` is empty where the task has one text, `label` is a number."""

    text: str
    second_text: str
    label: int


def score(labels: Sequence[int], predicted: Sequence[int], num_labels: int) -> dict[str, Any]:
    """Accuracy, macro F1 (both 0 to 1) and the confusion matrix: rows are true labels, columns predictions.

    Macro F1 is the mean over the labels that are true or predicted for some row, as scikit-learn's by default: of any
    other there is nothing to find.
    """
    from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

    every = list(range(num_labels))
    present = sorted({*labels, *predicted}.intersection(every))
    return {
        "accuracy": float(accuracy_score(labels, predicted)),
        "macro_f1": float(f1_score(labels, predicted, labels=present, average="macro", zero_division=0.0)),
        "confusion": confusion_matrix(labels, predicted, labels=every).tolist(),
    }


def score_majority(train: Sequence[Row], test: Sequence[Row], num_labels: int) -> dict[str, Any]:
    """Always the commonest label of the training rows."""
    commonest = statistics.mode(row.label for row in train)
    return score([row.label for row in test], [commonest] * len(test), num_labels)


def score_bag_of_words(train: Sequence[Row], test: Sequence[Row], num_labels: int) -> dict[str, Any]:
    """Logistic regression on word counts: what anybody gets without a language model."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
    model.fit([f"{row.text} {row.second_text}" for row in train], [row.label for row in train])
    predicted = model.predict([f"{row.text} {row.second_text}" for row in test])
    return score([row.label for row in test], predicted.tolist(), num_labels)


def time_passages(classify: Callable[..., Any], rows: Sequence[dict[str, "np.ndarray[Any, Any]"]]) -> float:
    """Median milliseconds for one passage, after a first pass that is not counted.

    Args:
        classify: takes `token_ids`, `segment_ids`, `padding_mask`, each (1, length).
        rows: the passages, without padding.
    """
    chosen = rows[:TIMED_PASSAGES]
    for row in chosen:
        classify(**row)
    seconds = []
    for row in chosen:
        start = time.perf_counter()
        classify(**row)
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)
