import pytest

from keras_bert.core.target_scale import TargetScale


@pytest.mark.parametrize(
    ("targets", "scale"),
    [([3400.0, 7000.0], (5200.0, 1800.0)), ([2.5], (2.5, 1.0)), ([7, 7, 7], (7.0, 1.0)), ([1e20, 1e20], (1e20, 1.0))],
)
def test_mean_and_standard_deviation(targets, scale):
    assert TargetScale.of(targets) == pytest.approx(scale)
