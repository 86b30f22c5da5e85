"""The logistic head inside a task: scikit-learn's regression on the same vectors, at the optimum of the formula."""

import keras
import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from keras_bert.objectives.class_weights import balanced_class_weights
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.multi_label import MultiLabelClassification
from plugins.few_shot.logistic_head import fit_logistic_head
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

WORDS = ("good", "bad", "film", "very", "a", ".")


def make_texts(count):
    chance = np.random.default_rng(0)
    return [" ".join(chance.choice(WORDS, chance.integers(2, 7))) for _ in range(count)]


TEXTS = make_texts(30)


def build(kind, labels):
    keras.utils.set_random_seed(1)
    return kind.build(make_encoder(), make_tokenizer(), labels=labels, max_length=20, pooling="mean")


def vectors_of(task):
    """Through another model on the same encoder."""
    embedding = Embedding.build(task.encoder, task.tokenizer, max_length=20, pooling="mean", normalize=False)
    return embedding.predict(TEXTS).astype("float64")


def logits_of(task):
    return np.stack(list(task.outputs(TEXTS))).astype("float64")


def classes(labels):
    return np.array([hash(text.count("good") + 2 * text.count("film")) % labels for text in TEXTS])


@pytest.mark.parametrize(("labels", "l2", "class_weight"), [(2, 1.0, None), (3, 0.1, "balanced")])
def test_probabilities_are_those_of_scikit_learn(labels, l2, class_weight):
    task, targets = build(Classification, [f"label {number}" for number in range(labels)]), classes(labels)
    counts = np.bincount(targets, minlength=labels).tolist()
    weights = None if class_weight is None else balanced_class_weights(counts)
    encoder = [weight.numpy() for weight in task.encoder.weights]
    fit_logistic_head(task, task.encode(TEXTS), targets, l2=l2, class_weights=weights)
    reference = LogisticRegression(C=1 / l2, tol=1e-8, max_iter=100_000, class_weight=class_weight)
    reference.fit(vectors_of(task), targets)
    np.testing.assert_allclose(softmax(logits_of(task), axis=1), reference.predict_proba(vectors_of(task)), atol=1e-4)
    for before, after in zip(encoder, task.encoder.weights, strict=True):
        np.testing.assert_array_equal(before, after)


def test_each_of_several_labels_has_its_regression():
    task = build(MultiLabelClassification, ["art", "film", "sea"])
    flags = np.stack([classes(2), classes(3) > 0, classes(5) > 1], axis=1).astype(int)
    weights = [3.0, 1.0, 0.5]
    fit_logistic_head(task, task.encode(TEXTS), flags, class_weights=weights)
    vectors = vectors_of(task)
    for number, weight in enumerate(weights):
        reference = LogisticRegression(tol=1e-8, max_iter=100_000, class_weight={0: 1.0, 1: weight})
        expected = reference.fit(vectors, flags[:, number]).predict_proba(vectors)[:, 1]
        np.testing.assert_allclose(expit(logits_of(task))[:, number], expected, atol=1e-4)


def test_fitting_twice_gives_the_same_head():
    task, targets = build(Classification, ["a", "b"]), classes(2)
    heads = []
    for _ in range(2):
        fit_logistic_head(task, task.encode(TEXTS), targets)
        heads.append([weight.numpy() for weight in task.model.get_layer("classifier").weights])
    for first, second in zip(*heads, strict=True):
        np.testing.assert_array_equal(first, second)


def test_wrong_arguments():
    task = build(Classification, ["a", "b", "c"])
    inputs = task.encode(TEXTS)
    with pytest.raises(ValueError, match=r"^fit_logistic_head\.l2 must be positive and finite, got 0\.0$"):
        fit_logistic_head(task, inputs, classes(3), l2=0.0)
    with pytest.raises(ValueError, match=r"targets must hold rows of all of \['a', 'b', 'c'\], got \['a', 'b'\]$"):
        fit_logistic_head(task, inputs, classes(2))
    several = build(MultiLabelClassification, ["a", "b"])
    flags = np.stack([classes(2), np.ones(len(TEXTS), int)], axis=1)
    with pytest.raises(ValueError, match=r"targets must have the label 'b' in some, not in all of 30 rows, got 30$"):
        fit_logistic_head(several, inputs, flags)
