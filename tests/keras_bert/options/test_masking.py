import pytest

from keras_bert.options.masking import Masking
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 1.5}, "rate must be below 1, got 1.5"),
        ({"max_predictions": 0}, "max_predictions must be positive, got 0"),
        ({"mask_share": 1.1}, "mask_share must be at most 1, got 1.1"),
        ({"random_share": -0.1}, "random_share must be at least 0, got -0.1"),
        ({"random_share": 0.3}, "mask_share must leave room for random_share=0.3, got 0.8"),
        ({"strategy": "words"}, "strategy must be 'tokens', 'whole_words' or 'spans', got 'words'"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Masking, settings, message)


def test_shares_that_add_up_to_one_by_floats_alone():
    # The sum is above 1 by its last bit.
    assert Masking(mask_share=0.9 + 2e-16, random_share=0.1).random_share == 0.1


def test_predictions_shrink_with_the_rows():
    assert Masking(max_predictions=80).scaled(128, 512) == Masking(max_predictions=20)
    assert Masking(strategy="spans").scaled(128, 128) == Masking(strategy="spans")
    assert Masking(max_predictions=1).scaled(8, 512).max_predictions == 1
