import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.objectives.tasks import QuestionAnsweringObjective
from tests.keras_bert.objectives.kinds import INPUTS, LENGTH, POSITIONS, ROWS, build, divergences, random_outputs, run

BATCH = {**INPUTS, "positions": POSITIONS}


def test_the_loss_is_the_mean_of_both_ends_and_both_must_be_right():
    model = build("question_answering")
    sums = run(QuestionAnsweringObjective(), model, BATCH)
    logits = np.asarray(model(INPUTS))
    ends = -log_softmax(logits, axis=1)[np.arange(ROWS)[:, None], POSITIONS, [[0, 1]]]
    assert sums["loss"] == pytest.approx([ends.mean(axis=1).sum(), ROWS], rel=1e-5)
    assert sums["accuracy"] == [(logits.argmax(axis=1) == POSITIONS).all(axis=1).sum(), ROWS]
    assert sums.keys() == {"loss", "accuracy"}


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_distance_is_the_mean_divergence_of_both_ends_over_the_tokens(temperature):
    student, teacher = random_outputs(ROWS, LENGTH, 2)
    start, end = (divergences(student[:, :, side], teacher[:, :, side], temperature) for side in (0, 1))
    distance = QuestionAnsweringObjective().distance(student, teacher, BATCH, temperature)
    assert float(distance) == pytest.approx(((start + end) / 2).sum(), rel=1e-5)
