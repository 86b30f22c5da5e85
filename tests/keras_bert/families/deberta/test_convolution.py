import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.layers import ConvolutionSum
from keras_bert.families.deberta.settings import DeBERTa

SHAPE = {"num_layers": 2, "hidden_size": 4, "num_heads": 2, "intermediate_size": 6, "vocabulary_size": 9}
EMBEDDED, STATES = np.random.default_rng(0).normal(size=(2, 2, 6, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], "int32")


@pytest.mark.parametrize("window", [3, 5])
def test_each_token_sees_its_neighbours_and_no_padding(window):
    variant = DeBERTa(convolution=window, convolution_activation="tanh")
    layer = ConvolutionSum(EncoderConfig(**SHAPE, layer_norm_epsilon=1e-3, variant=variant))
    layer(EMBEDDED, STATES, MASK)
    rng = np.random.default_rng(1)
    kernel, bias = rng.normal(size=(window * 4, 4)).astype("float32"), rng.normal(size=4).astype("float32")
    layer.dense.set_weights([kernel, bias])
    expected = np.zeros_like(STATES)
    for row in range(2):
        for place in range(6):
            total = bias.astype("float64")
            for step in range(window):
                neighbour = place + step - window // 2
                if 0 <= neighbour < 6 and MASK[row, neighbour]:
                    total = total + EMBEDDED[row, neighbour] @ kernel[4 * step : 4 * step + 4]
            summed = STATES[row, place] + np.tanh(total)
            expected[row, place] = (summed - summed.mean()) / np.sqrt(summed.var() + 1e-3)
    np.testing.assert_allclose(layer(EMBEDDED, STATES, MASK), expected, atol=1e-5)
