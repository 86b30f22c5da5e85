import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.objectives.tasks import ClassificationObjective
from tests.keras_bert.objectives.kinds import INPUTS, LABELS, ROWS, WEIGHTS, build, divergences, random_outputs, run

BATCH = {**INPUTS, "label": LABELS}


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_loss_and_accuracy(class_weights):
    model = build("classification")
    sums = run(ClassificationObjective(class_weights), model, BATCH)
    logits = np.asarray(model(INPUTS))
    losses = -log_softmax(logits, axis=1)[np.arange(ROWS), LABELS]
    weights = np.ones(ROWS) if class_weights is None else np.array(class_weights)[LABELS]
    assert sums["loss"] == pytest.approx([(losses * weights).sum(), weights.sum()], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(1) == LABELS).sum(), ROWS]
    assert sums.keys() == {"loss", "accuracy"}


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_distance_is_the_divergence_of_each_row_as_heavy_as_its_loss(class_weights, temperature):
    student, teacher = random_outputs(ROWS, 3)
    weights = np.ones(ROWS) if class_weights is None else np.array(class_weights)[LABELS]
    distance = ClassificationObjective(class_weights).distance(student, teacher, BATCH, temperature)
    assert float(distance) == pytest.approx((divergences(student, teacher, temperature) * weights).sum(), rel=1e-5)


def test_there_must_be_a_weight_for_each_label():
    objective = ClassificationObjective((1.0, 2.0))
    message = r"ClassificationObjective\.class_weights must be one for each of 3 labels, got \(1.0, 2.0\)"
    with pytest.raises(ValueError, match=message):
        objective(build("classification"), BATCH, training=False)
