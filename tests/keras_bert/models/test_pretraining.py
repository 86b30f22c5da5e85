import numpy as np
import pytest

from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import build_pretraining
from tests.keras_bert.models.test_encoder import ACTIVATIONS, dense, layer_norm, make_inputs, randomize, weights_of
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(num_layers=1, layer_norm_epsilon=0.01)
TEXT = make_inputs()
INPUTS = {**TEXT, "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}


@pytest.fixture(scope="module")
def model():
    model = build_pretraining(build_encoder(CONFIG))
    randomize(model)
    return model


def test_heads_against_numpy(model):
    logits, encoded = model(INPUTS), encoder_of(model)(TEXT)
    weights = weights_of(model)
    chosen = np.take_along_axis(np.asarray(encoded["sequence_output"]), INPUTS["mask_positions"][:, :, None], 1)
    activated = ACTIVATIONS["gelu_tanh"](dense(chosen, weights, "masked_token_transform/dense"))
    transformed = layer_norm(activated, weights, "masked_token_transform/norm", 0.01)
    scores = transformed @ weights["token_embedding/embeddings"].T + weights["masked_token_bias/bias"]
    np.testing.assert_allclose(logits["masked_tokens"], scores, atol=2e-5)
    expected = dense(np.asarray(encoded["pooled_output"]), weights, "next_sentence")
    np.testing.assert_allclose(logits["next_sentence"], expected, atol=2e-5)
    # The output matrix is the token embedding: only the transform, the bias and the pair head are added.
    added = (8 * 8 + 8) + 2 * 8 + 20 + (8 * 2 + 2)
    assert model.count_params() == encoder_of(model).count_params() + added
