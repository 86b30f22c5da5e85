import pytest

from keras_bert.options.transfer import Transfer
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"copies": -1}, "copies must not be negative, got -1"),
        ({"replaced": 0.0}, "replaced must be in (0, 1], got 0.0"),
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"seed": -1}, "seed must be from 0 on and below 2^32, got -1"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Transfer, settings, message)
