import numpy as np
import pytest

from keras_bert.families.longformer.layers import GlobalTokens
from keras_bert.layers.separator import SeparatorReader

IDS = np.array([[0, 7, 7, 2, 7, 2], [0, 7, 2, 5, 2, 1]], "int32")
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]], "int32")


def test_tokens_before_the_first_separator():
    assert np.asarray(SeparatorReader(2).before_separator(IDS)).tolist() == [[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("settings", "prompt", "expected"),
    [
        ({}, 0, [[], []]),
        ({"kind": "first"}, 0, [[1], [1]]),
        ({"kind": "question", "most": 4, "separator": 2}, 0, [[1, 1, 1, 0], [1, 1, 0, 0]]),
        ({"kind": "question", "most": 2, "separator": 2}, 0, [[1, 1], [1, 1]]),
        ({"kind": "question", "most": 9, "separator": 7}, 0, [[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]),
        # A prompt is global, and what the text itself is begins behind it.
        ({}, 2, [[1, 1], [1, 1]]),
        ({"kind": "question", "most": 3, "separator": 2}, 1, [[1, 1, 1, 0], [1, 1, 0, 0]]),
    ],
)
def test_which_tokens_are_global(settings, prompt, expected):
    layer = GlobalTokens(**settings)
    layer.tokens = prompt
    assert np.asarray(layer(IDS, MASK)).tolist() == expected


def test_padding_is_not_global():
    assert np.asarray(GlobalTokens("first")(IDS[:1], MASK[:1] * 0)).tolist() == [[0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"most": 0}, "GlobalTokens.most must be at least 1, got 0"),
        ({"kind": "question"}, "GlobalTokens.separator must be set where the question's tokens are global, got None"),
    ],
)
def test_refuses_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        GlobalTokens(**settings)
