from typing import get_args

from keras_bert.options.quantization import RECIPES, RecipeName


def test_each_name_is_a_recipe():
    assert set(RECIPES) == set(get_args(RecipeName))
