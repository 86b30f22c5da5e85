import keras
import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score, log_loss
from sklearn.utils.class_weight import compute_class_weight

from keras_bert.core.losses import binary_cross_entropy
from keras_bert.objectives.class_weights import balanced_positive_weights
from keras_bert.objectives.tasks import MultiLabelObjective
from tests.keras_bert.objectives.kinds import FLAGS, INPUTS, ROWS, WEIGHTS, build, divergences, random_outputs, run

BATCH = {**INPUTS, "label": FLAGS}


def weights_of_flags(class_weights):
    return np.ones(FLAGS.shape) if class_weights is None else np.where(FLAGS, class_weights, 1.0)


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_the_loss_is_that_of_scikit_learn(class_weights):
    model = build("multi_label")
    sums = run(MultiLabelObjective(class_weights), model, BATCH)
    logits = np.asarray(model(INPUTS)).astype("float64")
    weights = weights_of_flags(class_weights)
    mean = log_loss(FLAGS.ravel(), expit(logits).ravel(), sample_weight=weights.ravel())
    total, weight = sums["loss"]
    assert weight == pytest.approx(weights.sum())
    assert total / weight == pytest.approx(mean, abs=1e-6)
    hits, total = sums["micro_f1"]
    assert hits / total == pytest.approx(f1_score(FLAGS, logits > 0, average="micro"))
    assert sums.keys() == {"loss", "micro_f1"}


def test_the_loss_is_keras_loss_and_exact_for_large_logits():
    logits = np.random.default_rng(0).normal(scale=4, size=(5, 3)).astype("float32")
    flags = (logits > 1).astype("int32")
    losses = np.asarray(binary_cross_entropy(logits, flags))
    keras_loss = keras.losses.BinaryCrossentropy(from_logits=True)(flags, logits)
    assert losses.mean() == pytest.approx(float(keras_loss), abs=1e-6)
    np.testing.assert_allclose(binary_cross_entropy(np.array([500.0, -500.0]), np.array([0, 1])), [500.0, 500.0])


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_distance_is_the_divergence_of_each_decision_as_heavy_as_its_loss(class_weights, temperature):
    student, teacher = random_outputs(ROWS, 3)
    both = [np.stack([np.zeros_like(logits), logits], axis=-1) for logits in (student, teacher)]
    expected = (divergences(*both, temperature) * weights_of_flags(class_weights)).sum()
    distance = MultiLabelObjective(class_weights).distance(student, teacher, BATCH, temperature)
    assert float(distance) == pytest.approx(expected, rel=1e-5)


def test_there_must_be_a_weight_for_each_label():
    message = r"MultiLabelObjective\.class_weights must be one for each of 3 labels, got \(1.0, 2.0\)"
    with pytest.raises(ValueError, match=message):
        MultiLabelObjective((1.0, 2.0))(build("multi_label"), BATCH, training=False)
    with pytest.raises(ValueError, match=r"MultiLabelObjective\.class_weights must be positive and finite, got "):
        MultiLabelObjective((1.0, 0.0, 1.0))


def test_balanced_weights_have_the_ratio_of_scikit_learn():
    for count in (1, 3, 9):
        absent, present = compute_class_weight("balanced", classes=np.arange(2), y=[1] * count + [0] * (10 - count))
        assert balanced_positive_weights([count], 10) == pytest.approx([present / absent])
    assert balanced_positive_weights([0, 10], 10) == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"counts must be between 0 and the 2 rows, got \[3\]"):
        balanced_positive_weights([3], 2)
