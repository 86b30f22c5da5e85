"""What anybody gets without a language model: n-grams of words and characters, and their cosines."""

from collections.abc import Sequence
from typing import Any

from components.sources.table import TextRow

NGRAMS = "bag of n-grams"
COSINE = "TF-IDF cosine"

# Rows that a baseline learns from; more take minutes and gain next to nothing.
_MOST_ROWS = 50_000


def classify_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[str]:
    """The labels of a logistic regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    labels = [row.label for row in train[:_MOST_ROWS]]
    models = [make_pipeline(vectorizer, LogisticRegression(max_iter=1000)) for vectorizer in _vectorizers()]
    for model in models:
        model.fit(_join(train[:_MOST_ROWS]), labels)
    wanted = [row.label for row in validation]
    best = max(models, key=lambda model: float(model.score(_join(validation), wanted)))
    return [str(label) for label in best.predict(_join(test))]


def estimate_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[float]:
    """The numbers of a ridge regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    values = [float(row.label) for row in train[:_MOST_ROWS]]
    models = [make_pipeline(vectorizer, Ridge()) for vectorizer in _vectorizers()]
    for model in models:
        model.fit(_join(train[:_MOST_ROWS]), values)
    wanted = [float(row.label) for row in validation]
    best = max(models, key=lambda model: float(model.score(_join(validation), wanted)))
    return [float(value) for value in best.predict(_join(test))]


def cosines(train: Sequence[TextRow], rows: Sequence[TextRow]) -> list[float]:
    """The cosine of the two texts of each pair, as TF-IDF vectors of words that training knows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True)
    known = train[:_MOST_ROWS]
    vectorizer.fit([text for row in known for text in (row.text, row.second_text or "")])
    firsts = vectorizer.transform([row.text for row in rows])
    seconds = vectorizer.transform([row.second_text or "" for row in rows])
    return [float(value) for value in firsts.multiply(seconds).sum(axis=1).A1]


def classify_by_cosine(train: Sequence[TextRow], test: Sequence[TextRow]) -> list[str]:
    """The labels of a logistic regression on the `cosines` of pairs."""
    from sklearn.linear_model import LogisticRegression

    known = train[:_MOST_ROWS]
    model = LogisticRegression().fit([[value] for value in cosines(train, known)], [row.label for row in known])
    return [str(label) for label in model.predict([[value] for value in cosines(train, test)])]


def _vectorizers() -> list[Any]:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import make_union

    # All that stands between blanks is a word, as what is one letter long or a mark may tell, too.
    words = {"token_pattern": r"\S+", "max_features": 200_000}
    characters = {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 50_000, "sublinear_tf": True}
    pairs = {**words, "ngram_range": (1, 2), "sublinear_tf": True}
    return [
        CountVectorizer(),
        CountVectorizer(ngram_range=(1, 3), **words),
        TfidfVectorizer(**pairs),
        make_union(TfidfVectorizer(**pairs), TfidfVectorizer(**characters)),
    ]


def _join(rows: Sequence[TextRow]) -> list[str]:
    """The texts; of a pair both, one after the other."""
    return [row.text if row.second_text is None else f"{row.text} {row.second_text}" for row in rows]
