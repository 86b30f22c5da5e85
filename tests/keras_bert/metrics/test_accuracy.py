import keras
import numpy as np
import pytest

from keras_bert.losses import IGNORED, labelled_cross_entropy
from keras_bert.metrics.accuracy import LabelledAccuracy

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
