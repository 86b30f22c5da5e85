import pytest

from keras_bert.options.fine_tuning import Selection
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "first"}, "keep must be 'best' or 'last', got 'first'"),
        ({"validations": 0}, "validations must be positive, got 0"),
        ({"patience": 0}, "patience must be positive, got 0"),
        ({"keep": "last", "patience": 2}, "patience must be left out where keep is 'last', got 2"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Selection, settings, message)


def test_patience_goes_with_the_best():
    assert Selection(patience=2).keep == "best"
    assert Selection(keep="last").patience is None
