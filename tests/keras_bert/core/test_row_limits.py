import pytest

from keras_bert.core.row_limits import limit_batch_size


@pytest.mark.parametrize(
    ("rows", "length", "expected"),
    [(64, 0, 64), (64, 512, 64), (64, 513, 63), (64, 4096, 8), (64, 8192, 4), (2, 8192, 1), (32, 1024, 16)],
)
def test_no_more_tokens_than_usual(rows, length, expected):
    assert limit_batch_size(rows, length) == expected
