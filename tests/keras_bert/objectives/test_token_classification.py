import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.core.losses import IGNORED
from keras_bert.objectives.tasks import TokenClassificationObjective
from tests.keras_bert.objectives.kinds import (
    INPUTS,
    LENGTH,
    ROWS,
    TAGGED,
    TAGS,
    WEIGHTS,
    build,
    divergences,
    random_outputs,
    run,
)

BATCH = {**INPUTS, "label": TAGS}
UNTAGGED = {**INPUTS, "label": np.full_like(TAGS, IGNORED)}
COUNT = len(TAGGED[0])


def weigh(class_weights):
    return np.ones(COUNT) if class_weights is None else np.array(class_weights)[TAGS[TAGGED]]


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
def test_labelled_tokens_alone_are_counted(class_weights):
    model, weights = build("token_classification"), weigh(class_weights)
    sums = run(TokenClassificationObjective(class_weights), model, BATCH)
    logits = np.asarray(model(INPUTS))[TAGGED]
    losses = -log_softmax(logits, axis=1)[np.arange(COUNT), TAGS[TAGGED]]
    assert sums["loss"] == pytest.approx([(losses * weights).sum(), weights.sum()], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(1) == TAGS[TAGGED]).sum(), COUNT]
    assert sums.keys() == {"loss", "accuracy"}


def test_tokens_without_any_label_weigh_nothing():
    sums = run(TokenClassificationObjective(), build("token_classification"), UNTAGGED)
    assert sums == {"loss": [0, 0], "accuracy": [0, 0]}


@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_distance_is_that_of_the_labelled_tokens(class_weights, temperature):
    student, teacher = random_outputs(ROWS, LENGTH, 3)
    objective = TokenClassificationObjective(class_weights)
    expected = divergences(student[TAGGED], teacher[TAGGED], temperature) * weigh(class_weights)
    distance = objective.distance(student, teacher, BATCH, temperature)
    assert float(distance) == pytest.approx(expected.sum(), rel=1e-5)
    assert float(objective.distance(student, teacher, UNTAGGED, temperature)) == 0


def test_there_must_be_a_weight_for_each_label():
    objective = TokenClassificationObjective((1.0, 2.0))
    message = r"TokenClassificationObjective\.class_weights must be one for each of 3 labels, got \(1.0, 2.0\)"
    with pytest.raises(ValueError, match=message):
        objective(build("token_classification"), BATCH, training=False)
