import keras
import numpy as np
import pytest

from keras_bert.training.running_mean import RunningMean


@pytest.fixture
def weight():
    return keras.Variable(np.array([1.0, 2.0], "float32"))


def test_the_first_steps_are_forgotten_faster(weight):
    mean = RunningMean([weight], 0.5)
    weight.assign([3.0, 2.0])
    mean.update(1)  # min(0.5, 2 / 11)
    np.testing.assert_allclose(mean.variables[0].numpy(), [2 / 11 * 1 + 9 / 11 * 3, 2.0], rtol=1e-6)
    before = mean.variables[0].numpy()[0]
    weight.assign([0.0, 2.0])
    mean.update(1000)
    np.testing.assert_allclose(mean.variables[0].numpy()[0], before / 2, rtol=1e-6)


def test_weights_and_means_change_places_and_back(weight):
    mean = RunningMean([weight], 0.5)
    weight.assign([5.0, 6.0])
    mean.swap()
    assert weight.numpy().tolist() == [1.0, 2.0]
    assert mean.variables[0].numpy().tolist() == [5.0, 6.0]
    mean.swap()
    assert weight.numpy().tolist() == [5.0, 6.0]


def test_without_weights_it_does_nothing():
    mean = RunningMean([], 0.0)
    mean.update(1)
    mean.swap()
    assert mean.variables == []
