import numpy as np
import pytest

from keras_bert.objectives.tasks import RegressionObjective
from tests.keras_bert.objectives.kinds import INPUTS, ROWS, VALUES, build, random_outputs, run

BATCH = {**INPUTS, "value": VALUES}


def test_squared_and_absolute_errors():
    model = build("regression")
    sums = run(RegressionObjective(), model, BATCH)
    errors = np.asarray(model(INPUTS))[:, 0] - VALUES
    assert sums["loss"] == pytest.approx([(errors**2).sum(), ROWS], rel=1e-5)
    assert sums["absolute_error"] == pytest.approx([np.abs(errors).sum(), ROWS], rel=1e-5)
    assert sums.keys() == {"loss", "absolute_error"}


def test_the_distance_is_the_squared_difference_at_any_temperature():
    student, teacher = random_outputs(ROWS, 1)
    for temperature in (1.0, 3.0):
        distance = RegressionObjective().distance(student, teacher, BATCH, temperature)
        assert float(distance) == pytest.approx(((student - teacher) ** 2).sum(), rel=1e-5)
