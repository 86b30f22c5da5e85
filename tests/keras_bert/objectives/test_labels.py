"""Loss, metrics and distance from a teacher of each task with labels, against SciPy and scikit-learn."""

import keras
import numpy as np
import pytest
from scipy.special import expit, log_softmax
from sklearn.metrics import f1_score, log_loss
from sklearn.utils.class_weight import compute_class_weight

from keras_bert.core.losses import IGNORED, binary_cross_entropy
from keras_bert.objectives.class_weights import balanced_positive_weights
from keras_bert.objectives.tasks import (
    ClassificationObjective,
    MultiLabelObjective,
    QuestionAnsweringObjective,
    RegressionObjective,
    TokenClassificationObjective,
)
from tests.keras_bert.objectives.kinds import (
    FLAGS,
    INPUTS,
    KINDS,
    LABELS,
    LENGTH,
    POSITIONS,
    ROWS,
    TAGGED,
    TAGS,
    VALUES,
    WEIGHTS,
    build,
    divergences,
    random_outputs,
    run,
)

UNTAGGED = {**INPUTS, "label": np.full_like(TAGS, IGNORED)}
by_class_weights = pytest.mark.parametrize("class_weights", [None, WEIGHTS])
by_temperature = pytest.mark.parametrize("temperature", [1.0, 3.0])


def weigh(labels, class_weights):
    return np.ones(len(labels)) if class_weights is None else np.array(class_weights)[labels]


def weigh_flags(class_weights):
    return np.ones(FLAGS.shape) if class_weights is None else np.where(FLAGS, class_weights, 1.0)


def check_classes(sums, logits, labels, class_weights):
    losses, weights = -log_softmax(logits, axis=1)[np.arange(len(labels)), labels], weigh(labels, class_weights)
    assert sums["loss"] == pytest.approx([(losses * weights).sum(), weights.sum()], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(1) == labels).sum(), len(labels)]
    assert sums.keys() == {"loss", "accuracy"}


@by_class_weights
def test_loss_and_accuracy_of_classes_are_over_the_rows(class_weights):
    model = build("classification")
    sums = run(ClassificationObjective(class_weights), model, KINDS["classification"].batch)
    check_classes(sums, np.asarray(model(INPUTS)), LABELS, class_weights)


@by_class_weights
def test_loss_and_accuracy_of_tags_are_over_the_labelled_tokens(class_weights):
    model = build("token_classification")
    sums = run(TokenClassificationObjective(class_weights), model, KINDS["token_classification"].batch)
    check_classes(sums, np.asarray(model(INPUTS))[TAGGED], TAGS[TAGGED], class_weights)
    assert run(TokenClassificationObjective(), model, UNTAGGED) == {"loss": [0, 0], "accuracy": [0, 0]}


@by_class_weights
def test_the_loss_of_several_labels_is_that_of_scikit_learn(class_weights):
    model = build("multi_label")
    sums = run(MultiLabelObjective(class_weights), model, KINDS["multi_label"].batch)
    logits, weights = np.asarray(model(INPUTS)).astype("float64"), weigh_flags(class_weights)
    mean = log_loss(FLAGS.ravel(), expit(logits).ravel(), sample_weight=weights.ravel())
    total, weight = sums["loss"]
    assert weight == pytest.approx(weights.sum())
    assert total / weight == pytest.approx(mean, abs=1e-6)
    hits, total = sums["micro_f1"]
    assert hits / total == pytest.approx(f1_score(FLAGS, logits > 0, average="micro"))
    assert sums.keys() == {"loss", "micro_f1"}


def test_binary_cross_entropy_is_keras_loss_and_exact_for_large_logits():
    logits = np.random.default_rng(0).normal(scale=4, size=(5, 3)).astype("float32")
    flags = (logits > 1).astype("int32")
    keras_loss = keras.losses.BinaryCrossentropy(from_logits=True)(flags, logits)
    assert np.asarray(binary_cross_entropy(logits, flags)).mean() == pytest.approx(float(keras_loss), abs=1e-6)
    np.testing.assert_allclose(binary_cross_entropy(np.array([500.0, -500.0]), np.array([0, 1])), [500.0, 500.0])


def test_the_loss_of_answers_is_the_mean_of_both_ends_and_both_must_be_right():
    model = build("question_answering")
    sums = run(QuestionAnsweringObjective(), model, KINDS["question_answering"].batch)
    logits = np.asarray(model(INPUTS))
    ends = -log_softmax(logits, axis=1)[np.arange(ROWS)[:, None], POSITIONS, [[0, 1]]]
    assert sums["loss"] == pytest.approx([ends.mean(axis=1).sum(), ROWS], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(axis=1) == POSITIONS).all(axis=1).sum(), ROWS]
    assert sums.keys() == {"loss", "accuracy"}


def test_squared_and_absolute_errors_of_numbers():
    model = build("regression")
    sums = run(RegressionObjective(), model, KINDS["regression"].batch)
    errors = np.asarray(model(INPUTS))[:, 0] - VALUES
    assert sums["loss"] == pytest.approx([(errors**2).sum(), ROWS], rel=1e-5)
    assert sums["absolute_error"] == pytest.approx([np.abs(errors).sum(), ROWS], rel=1e-5)
    assert sums.keys() == {"loss", "absolute_error"}


@by_class_weights
@by_temperature
def test_distances_are_divergences_as_heavy_as_the_losses(class_weights, temperature):
    def check(objective, outputs, batch, expected):
        task = objective(class_weights)
        distances = task.distances(*outputs, batch, temperature) * task.loss_weights(batch)
        assert float(np.sum(distances)) == pytest.approx(expected, rel=1e-5)

    rows, tokens = random_outputs(ROWS, 3), random_outputs(ROWS, LENGTH, 3)
    expected = (divergences(*rows, temperature) * weigh(LABELS, class_weights)).sum()
    check(ClassificationObjective, rows, KINDS["classification"].batch, expected)
    decisions = [np.stack([np.zeros_like(logits), logits], axis=-1) for logits in rows]
    expected = (divergences(*decisions, temperature) * weigh_flags(class_weights)).sum()
    check(MultiLabelObjective, rows, KINDS["multi_label"].batch, expected)
    labelled = divergences(*(outputs[TAGGED] for outputs in tokens), temperature)
    expected = (labelled * weigh(TAGS[TAGGED], class_weights)).sum()
    check(TokenClassificationObjective, tokens, KINDS["token_classification"].batch, expected)
    check(TokenClassificationObjective, tokens, UNTAGGED, 0.0)


@by_temperature
def test_distances_of_answers_and_numbers(temperature):
    """The mean divergence of both ends over the tokens, and the squared difference at any temperature."""
    student, teacher = random_outputs(ROWS, LENGTH, 2)
    start, end = (divergences(student[:, :, side], teacher[:, :, side], temperature) for side in (0, 1))
    objective, batch = KINDS["question_answering"]
    distance = objective.distances(student, teacher, batch, temperature)
    assert float(np.sum(distance)) == pytest.approx(((start + end) / 2).sum(), rel=1e-5)
    student, teacher = random_outputs(ROWS, 1)
    distance = RegressionObjective().distances(student, teacher, KINDS["regression"].batch, temperature)
    assert float(np.sum(distance)) == pytest.approx(((student - teacher) ** 2).sum(), rel=1e-5)


@pytest.mark.parametrize("kind", ["classification", "multi_label", "token_classification"])
def test_class_weights_are_positive_and_one_for_each_label(kind):
    objective = type(KINDS[kind].objective)
    for weights in ((1.0, 0.0), (1.0, -1.0), (1.0, float("nan")), (float("inf"), 1.0)):
        with pytest.raises(ValueError, match=rf"{objective.__name__}\.class_weights must be positive and finite, got "):
            objective(weights)
    message = rf"{objective.__name__}\.class_weights must be one for each of 3 labels, got \(1.0, 2.0\)"
    with pytest.raises(ValueError, match=message):
        objective((1.0, 2.0))(build(kind), KINDS[kind].batch, training=False)


def test_balanced_weights_of_several_labels_have_the_ratio_of_scikit_learn():
    for count in (1, 3, 9):
        absent, present = compute_class_weight("balanced", classes=np.arange(2), y=[1] * count + [0] * (10 - count))
        assert balanced_positive_weights([count], 10) == pytest.approx([present / absent])
    assert balanced_positive_weights([0, 10], 10) == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"counts must be between 0 and the 2 rows, got \[3\]"):
        balanced_positive_weights([3], 2)
