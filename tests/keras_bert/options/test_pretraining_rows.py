import pytest

from keras_bert.options.pretraining_rows import PretrainingRows
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "order"}, "objective must be 'next_sentence', 'sentence_order' or 'none', got 'order'"),
        ({"compression": "zip"}, "compression must be 'none' or 'gzip', got 'zip'"),
        ({"short_share": -0.1}, "short_share must be at least 0, got -0.1"),
        ({"short_length": 7}, "short_length must be at least 8, got 7"),
        ({"duplication": 0}, "duplication must be positive, got 0"),
        ({"held_out": 1.0}, "held_out must be below 1, got 1.0"),
        ({"held_out": 0.0}, "held_out must be positive, got 0.0"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(PretrainingRows, settings, message)
