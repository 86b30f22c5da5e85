import numpy as np
import pytest

from keras_bert.families.hugging_face import Fused
from keras_bert.interop.weights import join, split

FUSED = (Fused("in.weight", ("query.weight", "key.weight")), Fused("q_bias", ("query.bias",)))
# Two heads of one row each: query, key, query, key.
WHOLE = {
    "layer.0.in.weight": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], "float32"),
    "layer.0.q_bias": np.array([9.0, 10.0], "float32"),
    "other": np.array([11.0], "float32"),
}


def test_parts_by_head_and_back():
    parts = split(WHOLE, FUSED, heads=2)
    assert set(parts) == {"layer.0.query.weight", "layer.0.key.weight", "layer.0.query.bias", "other"}
    np.testing.assert_array_equal(parts["layer.0.query.weight"], [[1.0, 2.0], [5.0, 6.0]])
    np.testing.assert_array_equal(parts["layer.0.key.weight"], [[3.0, 4.0], [7.0, 8.0]])
    np.testing.assert_array_equal(parts["layer.0.query.bias"], [9.0, 10.0])
    again = join(dict(split(WHOLE, FUSED, heads=2)), FUSED, heads=2)
    assert again.keys() == WHOLE.keys()
    for name, array in WHOLE.items():
        np.testing.assert_array_equal(again[name], array)
    with pytest.raises(ValueError, match=r"'layer.0.in.weight' must have rows for 3 heads of 2 parts each, got .*4, 2"):
        split(WHOLE, FUSED, heads=3)["layer.0.key.weight"]
