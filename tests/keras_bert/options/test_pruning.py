import pytest

from keras_bert.options.pruning import Pruning
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": 1.5}, "sparsity must be below 1, got 1.5"),
        ({"sparsity": 0.0}, "sparsity must be positive, got 0.0"),
        ({"pattern": "1:4"}, "pattern must be 'unstructured' or '2:4', got '1:4'"),
        ({"pattern": "2:4", "sparsity": 0.7}, "sparsity must be 0.5 with the pattern '2:4', got 0.7"),
        ({"ramp": 0.0}, "ramp must be positive, got 0.0"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Pruning, settings, message)
