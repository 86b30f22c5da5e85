from typing import get_args

import pytest

from keras_bert.options.quantization import RECIPES, Quantization, RecipeName
from tests.keras_bert.options.refusals import check_refusal


def test_each_name_is_a_recipe():
    assert set(RECIPES) == set(get_args(RecipeName))


*REST, LAST = map(repr, get_args(RecipeName))
RECIPE_NAMES = f"{', '.join(REST)} or {LAST}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"recipe": "int3"}, f"recipe must be {RECIPE_NAMES}, got 'int3'"),
        ({"calibration_batches": 0}, "calibration_batches must be positive, got 0"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Quantization, settings, message)
