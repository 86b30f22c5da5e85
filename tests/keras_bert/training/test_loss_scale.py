import pytest

from keras_bert.training.precision import LossScale


def test_halves_and_doubles():
    scale = LossScale(scale=8.0, patience=3)
    seen = []
    for overflow in (True, False, False, False, False, True):
        scale.update(overflow=overflow)
        seen.append((scale.scale, scale.skipped))
    assert seen == [(4.0, 1), (4.0, 1), (4.0, 1), (8.0, 1), (8.0, 1), (4.0, 2)]


def test_it_does_not_halve_for_ever():
    scale = LossScale(scale=2.0**-9)
    scale.update(overflow=True)
    with pytest.raises(ArithmeticError, match=r"overflow float16 even with a loss scale of 0\.0009765625"):
        scale.update(overflow=True)
