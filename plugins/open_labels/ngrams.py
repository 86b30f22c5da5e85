"""A classifier of n-grams, beside which models are measured."""

from collections.abc import Sequence
from typing import Any


def classify_by_ngrams(
    texts: Sequence[str], labels: Sequence[str], tested: Sequence[str]
) -> tuple[list[str], list[float]]:
    """The label of each tested text, and its probability, by a logistic regression on words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=50_000)
    model: Any = make_pipeline(vectorizer, LogisticRegression(C=10.0, max_iter=200)).fit(texts, labels)
    shares = model.predict_proba(tested)
    return [str(model.classes_[best]) for best in shares.argmax(axis=1)], shares.max(axis=1).tolist()
