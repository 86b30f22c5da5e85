"""What the trainer minimizes, against plain NumPy."""

import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.config import EncoderConfig
from keras_bert.losses import IGNORED
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.class_weights import balanced_class_weights
from keras_bert.objectives.classification import ClassificationObjective
from keras_bert.objectives.question_answering import QuestionAnsweringObjective
from keras_bert.objectives.regression import RegressionObjective
from keras_bert.objectives.token_classification import TokenClassificationObjective
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.question_answering import build_span_classifier
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize

INPUTS = make_inputs()
ROWS, LENGTH = INPUTS["token_ids"].shape
WEIGHTS = (0.5, 3.0, 1.25)
LABELS = np.array([2, 0, 1], "int32")
TAGS = np.full((ROWS, LENGTH), IGNORED, "int32")
TAGS[0, 1:4], TAGS[1, 2] = (2, 0, 1), 1


def built(build, *arguments):
    model = build(build_encoder(EncoderConfig(**SETTINGS)), *arguments)
    randomize(model)
    return model


def run(objective, model, batch):
    """The sums as numbers, after asking whether `weights` told the loss's weight beforehand."""
    sums = {name: [float(part) for part in pair] for name, pair in objective(model, batch, training=False).items()}
    told = {name: float(weight) for name, weight in objective.weights(batch).items()}
    assert told == {"loss": pytest.approx(sums["loss"][1])}
    return sums


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_classification(class_weights):
    model = built(build_classifier, 3)
    sums = run(ClassificationObjective(class_weights), model, {**INPUTS, "label": LABELS})
    logits = np.asarray(model(INPUTS))
    losses = -log_softmax(logits, axis=1)[np.arange(ROWS), LABELS]
    weights = np.ones(ROWS) if class_weights is None else np.array(class_weights)[LABELS]
    assert sums["loss"] == pytest.approx([(losses * weights).sum(), weights.sum()], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(1) == LABELS).sum(), ROWS]


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_token_classification_counts_labelled_tokens_only(class_weights):
    model = built(build_tagger, 3)
    sums = run(TokenClassificationObjective(class_weights), model, {**INPUTS, "label": TAGS})
    logits = np.asarray(model(INPUTS))
    places = np.nonzero(TAGS != IGNORED)
    labels = TAGS[places]
    losses = -log_softmax(logits[places], axis=1)[np.arange(4), labels]
    weights = np.ones(4) if class_weights is None else np.array(class_weights)[labels]
    assert sums["loss"] == pytest.approx([(losses * weights).sum(), weights.sum()], rel=1e-5)
    assert sums["accuracy"] == [(logits[places].argmax(1) == labels).sum(), 4]


def test_tokens_without_any_label_weigh_nothing():
    sums = run(TokenClassificationObjective(), built(build_tagger, 3), {**INPUTS, "label": np.full_like(TAGS, IGNORED)})
    assert sums == {"loss": [0, 0], "accuracy": [0, 0]}


def test_regression():
    model, values = built(build_regressor), np.array([0.5, -2.0, 4.0], "float32")
    sums = run(RegressionObjective(), model, {**INPUTS, "value": values})
    errors = np.asarray(model(INPUTS))[:, 0] - values
    assert sums["loss"] == pytest.approx([(errors**2).sum(), 3], rel=1e-5)
    assert sums["absolute_error"] == pytest.approx([np.abs(errors).sum(), 3], rel=1e-5)


def test_question_answering():
    model, positions = built(build_span_classifier), np.array([[1, 2], [0, 0], [2, 2]], "int32")
    sums = run(QuestionAnsweringObjective(), model, {**INPUTS, "positions": positions})
    logits = np.asarray(model(INPUTS))
    ends = -log_softmax(logits, axis=1)[np.arange(3)[:, None], positions, [[0, 1]]]
    assert sums["loss"] == pytest.approx([ends.mean(axis=1).sum(), 3], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(axis=1) == positions).all(axis=1).sum(), 3]


def test_the_identity_of_an_objective_is_its_class_and_settings():
    assert ClassificationObjective((0.5, 2.0)).identity() == {
        "class": "ClassificationObjective",
        "class_weights": (0.5, 2.0),
    }
    assert RegressionObjective().identity() == {"class": "RegressionObjective"}


def test_balanced_weights_are_those_of_scikit_learn():
    # The example in the documentation of `sklearn.utils.class_weight.compute_class_weight`, and one by hand.
    assert balanced_class_weights([2, 4]) == [1.5, 0.75]
    assert balanced_class_weights([7, 2, 1]) == pytest.approx([10 / 21, 10 / 6, 10 / 3])


def test_a_class_that_does_not_occur_changes_nothing_for_the_others():
    assert balanced_class_weights([3, 0, 1]) == [4 / 6, 1.0, 2.0]


def test_equal_classes_weigh_one():
    assert balanced_class_weights([5, 5]) == [1.0, 1.0]


@pytest.mark.parametrize("weights", [(1.0, 0.0), (1.0, -1.0), (1.0, float("nan")), (float("inf"), 1.0)])
@pytest.mark.parametrize("objective", [ClassificationObjective, TokenClassificationObjective])
def test_weights_must_be_positive_and_finite(objective, weights):
    with pytest.raises(ValueError, match=rf"{objective.__name__}.class_weights must be positive and finite, got "):
        objective(weights)


def test_there_must_be_a_weight_for_each_label():
    objective = ClassificationObjective((1.0, 2.0))
    with pytest.raises(ValueError, match=r"class_weights must be one for each of 3 labels, got \(1.0, 2.0\)"):
        objective(built(build_classifier, 3), {**INPUTS, "label": LABELS}, training=False)


def test_counts_must_hold_a_row():
    with pytest.raises(ValueError, match=r"balanced_class_weights.counts must hold a row, got \[0, 0\]"):
        balanced_class_weights([0, 0])
