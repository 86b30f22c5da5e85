"""Baselines without a language model: n-grams of words and characters, and TF-IDF cosines."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from components.dsl.arrays import Array
from components.sources.label_sets import LabelSetRow
from components.sources.shared import draw_rows
from components.sources.table import TextRow

R = TypeVar("R", TextRow, LabelSetRow)

NGRAMS = "bag of n-grams"
COSINE = "TF-IDF cosine"
BM25 = "BM25"

# Robertson and Zaragoza 2009, section 3.3: the usual values, as in Lucene.
_SATURATION, _LENGTH_SHARE = 1.2, 0.75

# Maximum number of rows that a baseline learns from; more take minutes and gain little.
_MOST_ROWS = 50_000


def classify_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[str]:
    """The labels of a logistic regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import LogisticRegression

    model = _fit_ngrams(LogisticRegression(max_iter=1000), lambda row: row.label, train, validation)
    return [str(label) for label in model.predict(_join(test))]


def classify_sets_by_ngrams(
    train: Sequence[LabelSetRow], validation: Sequence[LabelSetRow], test: Sequence[LabelSetRow], labels: Sequence[str]
) -> tuple[Array, Array]:
    """The probabilities of labels in validation and in test rows, each (rows, labels), see `classify_by_ngrams`.

    Each label needs training rows with and without it.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    estimator = OneVsRestClassifier(LogisticRegression(max_iter=1000))
    model = _fit_ngrams(estimator, lambda row: [label in row.labels for label in labels], train, validation)
    held_out, shares = (np.asarray(model.predict_proba(_join(rows))) for rows in (validation, test))
    return held_out, shares


def estimate_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[float]:
    """The numbers of a ridge regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import Ridge

    model = _fit_ngrams(Ridge(), lambda row: float(row.label), train, validation)
    return [float(value) for value in model.predict(_join(test))]


def cosines(train: Sequence[TextRow], rows: Sequence[TextRow]) -> list[float]:
    """The cosine of the two texts of each pair, as TF-IDF vectors over the words of the training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True)
    vectorizer.fit([text for row in _sample(train) for text in (row.text, row.second_text or "")])
    firsts = vectorizer.transform([row.text for row in rows])
    seconds = vectorizer.transform([row.second_text or "" for row in rows])
    return [float(value) for value in firsts.multiply(seconds).sum(axis=1).A1]


def classify_by_cosine(train: Sequence[TextRow], test: Sequence[TextRow]) -> list[str]:
    """The labels of a logistic regression on the `cosines` of pairs."""
    from sklearn.linear_model import LogisticRegression

    return [str(label) for label in _fit_cosines(LogisticRegression(), lambda row: row.label, train, test)]


def estimate_by_cosine(train: Sequence[TextRow], test: Sequence[TextRow]) -> list[float]:
    """The numbers of a linear regression on the `cosines` of pairs."""
    from sklearn.linear_model import LinearRegression

    return [float(value) for value in _fit_cosines(LinearRegression(), lambda row: float(row.label), train, test)]


def weigh_words(queries: Sequence[str], passages: Sequence[str]) -> tuple[Any, Any]:
    """The words of queries and of passages whose inner products are BM25 (Robertson and Zaragoza 2009, equation 3.15).

    Both are sparse: (queries, words) counts, (passages, words) weights.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(passages).astype("float64")
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    documents = np.asarray((counts > 0).sum(axis=0)).ravel()
    rarity = np.log(1 + (len(passages) - documents + 0.5) / (documents + 0.5))
    norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / lengths.mean())
    weights = counts.tocoo()
    values = weights.data * (_SATURATION + 1) / (weights.data + norm[weights.row]) * rarity[weights.col]
    return vectorizer.transform(queries), csr_matrix((values, (weights.row, weights.col)), shape=weights.shape)


def match_words(queries: Sequence[str], passages: Sequence[str]) -> list[float]:
    """BM25 of each query and its passage, over the words of all different passages, see `weigh_words`."""
    places = {passage: place for place, passage in enumerate(dict.fromkeys(passages))}
    words, weights = weigh_words(queries, list(places))
    return [float(value) for value in words.multiply(weights[[places[passage] for passage in passages]]).sum(axis=1).A1]


def _fit_cosines(
    estimator: Any, target: Callable[[TextRow], Any], train: Sequence[TextRow], test: Sequence[TextRow]
) -> Any:
    """The answers to test rows of an estimator that learns the target of a row from its cosine."""
    rows = _sample(train)
    model = estimator.fit([[value] for value in cosines(train, rows)], list(map(target, rows)))
    return model.predict([[value] for value in cosines(train, test)])


def _fit_ngrams(estimator: Any, target: Callable[[Any], Any], train: Sequence[R], validation: Sequence[R]) -> Any:
    """Learns the target of a row from its n-grams; vectorizers that find no words are left out."""
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union

    rows, fitted, reasons = _sample(train), [], []
    targets, validation_targets = (np.array(list(map(target, part))) for part in (rows, validation))
    # Everything between blanks is a word: single letters and punctuation marks may be informative.
    words = {"token_pattern": r"\S+", "max_features": 200_000}
    characters = {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 50_000, "sublinear_tf": True}
    pairs = {**words, "ngram_range": (1, 2), "sublinear_tf": True}
    for vectorizer in [
        CountVectorizer(),
        CountVectorizer(ngram_range=(1, 3), **words),
        TfidfVectorizer(**pairs),
        make_union(TfidfVectorizer(**pairs), TfidfVectorizer(**characters)),
    ]:
        try:
            fitted.append(make_pipeline(vectorizer, clone(estimator)).fit(_join(rows), targets))
        except ValueError as error:
            reasons.append(str(error))
    if not fitted:
        raise ValueError(reasons[0])
    return max(fitted, key=lambda model: float(model.score(_join(validation), validation_targets)))


def _sample(rows: Sequence[Any]) -> list[Any]:
    """All rows, or some if there are too many, see `draw_rows`."""
    return [rows[row] for row in draw_rows(len(rows), _MOST_ROWS)]


def _join(rows: Sequence[TextRow] | Sequence[LabelSetRow]) -> list[str]:
    """The texts; of a pair both, one after the other."""
    return [row.text if row.second_text is None else f"{row.text} {row.second_text}" for row in rows]
