"""Baselines without a language model: n-grams of words and characters, and TF-IDF cosines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

R = TypeVar("R", TextRow, LabelSetRow)

NGRAMS = "bag of n-grams"
COSINE = "TF-IDF cosine"

# Maximum number of rows that a baseline learns from; more take minutes and gain little.
_MOST_ROWS = 50_000


def classify_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[str]:
    """The labels of a logistic regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    models = [make_pipeline(vectorizer, LogisticRegression(max_iter=1000)) for vectorizer in _vectorizers()]
    rows = _sample(train)
    best = _fit_best(models, rows, [row.label for row in rows], validation, [row.label for row in validation])
    return [str(label) for label in best.predict(_join(test))]


def classify_sets_by_ngrams(
    train: Sequence[LabelSetRow],
    validation: Sequence[LabelSetRow],
    test: Sequence[LabelSetRow],
    train_flags: "Array",
    validation_flags: "Array",
) -> "Array":
    """The probabilities (rows, labels) of a logistic regression for each label, chosen as in `classify_by_ngrams`.

    Flags are 1 for each label of a row, else 0 (rows, labels); each label needs training rows with and without it.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    models = [
        make_pipeline(vectorizer, OneVsRestClassifier(LogisticRegression(max_iter=1000)))
        for vectorizer in _vectorizers()
    ]
    rows = _sample(train)
    flags = np.asarray(_sample(train_flags))
    best = _fit_best(models, rows, flags, validation, validation_flags)
    return np.asarray(best.predict_proba(_join(test)))


def estimate_by_ngrams(train: Sequence[TextRow], validation: Sequence[TextRow], test: Sequence[TextRow]) -> list[float]:
    """The numbers of a ridge regression on n-grams of words, and of characters: validation rows decide which."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    models = [make_pipeline(vectorizer, Ridge()) for vectorizer in _vectorizers()]
    rows = _sample(train)
    values, validation_values = ([float(row.label) for row in part] for part in (rows, validation))
    best = _fit_best(models, rows, values, validation, validation_values)
    return [float(value) for value in best.predict(_join(test))]


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

    rows = _sample(train)
    model = LogisticRegression().fit([[value] for value in cosines(train, rows)], [row.label for row in rows])
    return [str(label) for label in model.predict([[value] for value in cosines(train, test)])]


def estimate_by_cosine(train: Sequence[TextRow], test: Sequence[TextRow]) -> list[float]:
    """The numbers of a linear regression on the `cosines` of pairs."""
    from sklearn.linear_model import LinearRegression

    rows = _sample(train)
    model = LinearRegression().fit([[value] for value in cosines(train, rows)], [float(row.label) for row in rows])
    return [float(value) for value in model.predict([[value] for value in cosines(train, test)])]


def _fit_best(
    models: Sequence[Any],
    train: Sequence[R],
    targets: Any,
    validation: Sequence[R],
    validation_targets: Any,
) -> Any:
    """Fits the models and returns the best one on validation rows; models that find no words are left out.

    Raises:
        ValueError: no model can be fitted.
    """
    fitted, reasons = [], []
    for model in models:
        try:
            fitted.append(model.fit(_join(train), targets))
        except ValueError as error:
            reasons.append(str(error))
    if not fitted:
        raise ValueError(reasons[0])
    return max(fitted, key=lambda model: float(model.score(_join(validation), validation_targets)))


def _sample(rows: Any) -> Any:
    """All rows, or evenly spread ones if there are too many; the first rows may all have one label."""
    if len(rows) <= _MOST_ROWS:
        return rows
    return [rows[number * len(rows) // _MOST_ROWS] for number in range(_MOST_ROWS)]


def _vectorizers() -> list[Any]:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.pipeline import make_union

    # Everything between blanks is a word: single letters and punctuation marks may be informative.
    words = {"token_pattern": r"\S+", "max_features": 200_000}
    characters = {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 50_000, "sublinear_tf": True}
    pairs = {**words, "ngram_range": (1, 2), "sublinear_tf": True}
    return [
        CountVectorizer(),
        CountVectorizer(ngram_range=(1, 3), **words),
        TfidfVectorizer(**pairs),
        make_union(TfidfVectorizer(**pairs), TfidfVectorizer(**characters)),
    ]


def _join(rows: Sequence[TextRow] | Sequence[LabelSetRow]) -> list[str]:
    """The texts; of a pair both, one after the other."""
    return [row.text if row.second_text is None else f"{row.text} {row.second_text}" for row in rows]
