import keras
import numpy as np
import pytest
from sklearn.metrics import f1_score

from keras_bert.core.losses import IGNORED, labelled_cross_entropy
from keras_bert.metrics.accuracy import LabelledAccuracy, MicroF1

LOGITS = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")
LABELS = np.array([[1, -1, -1, -1], [2, 3, -1, 0], [-1, -1, -1, -1]])


def test_only_labelled_places_count():
    labelled = LABELS != IGNORED
    shares = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    losses = -shares[labelled, LABELS[labelled]]
    right = LOGITS.argmax(-1)[labelled] == LABELS[labelled]
    assert float(labelled_cross_entropy()(LABELS, LOGITS)) == pytest.approx(losses.mean(), rel=1e-5)
    accuracy = LabelledAccuracy()
    accuracy.update_state(LABELS, LOGITS)
    accuracy.update_state(LABELS[:1], LOGITS[:1])
    assert float(accuracy.result()) == pytest.approx((right.sum() + right[0]) / 5)


def test_weights():
    accuracy = LabelledAccuracy()
    right = LOGITS.argmax(-1)
    accuracy.update_state(np.where(LABELS == 3, right, LABELS), LOGITS, sample_weight=(LABELS == 3).astype("float32"))
    assert float(accuracy.result()) == 1


def test_in_a_model():
    inputs = keras.Input((4, 5))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=labelled_cross_entropy(), metrics=[LabelledAccuracy()])
    loss, accuracy = model.evaluate(LOGITS, LABELS, batch_size=3, verbose=0)
    assert loss == pytest.approx(float(labelled_cross_entropy()(LABELS, LOGITS)), rel=1e-5)
    assert accuracy == pytest.approx((LOGITS.argmax(-1) == LABELS)[LABELS != IGNORED].mean())


def test_micro_f1_is_that_of_scikit_learn_over_batches():
    chance = np.random.default_rng(0)
    logits, flags = chance.normal(size=(40, 6)).astype("float32"), chance.integers(0, 2, (40, 6))
    metric = MicroF1()
    metric.update_state(flags[:7], logits[:7])
    metric.update_state(flags[7:], logits[7:])
    assert float(metric.result()) == pytest.approx(f1_score(flags, logits > 0, average="micro"))
    weights = chance.uniform(size=(40, 1)).astype("float32")
    expected = f1_score(flags.ravel(), logits.ravel() > 0, sample_weight=np.repeat(weights, 6))
    assert float(MicroF1()(flags, logits, sample_weight=weights)) == pytest.approx(expected)


def test_micro_f1_of_no_label_is_0():
    assert float(MicroF1()(np.eye(20), np.full((20, 20), -1.0))) == 0, "95 % of the decisions are right"
