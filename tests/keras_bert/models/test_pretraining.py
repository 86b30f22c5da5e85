import numpy as np
import pytest

from keras_bert.config import EncoderConfig
from keras_bert.losses import cross_entropy
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import build_pretraining
from keras_bert.objectives.pretraining import PretrainingObjective
from tests.keras_bert.models.test_encoder import ACTIVATIONS, dense, layer_norm, make_inputs, randomize, weights_of

CONFIG = EncoderConfig(
    vocabulary_size=20,
    max_length=9,
    num_layers=1,
    hidden_size=8,
    num_heads=2,
    intermediate_size=16,
    layer_norm_epsilon=0.01,
)
TEXT = make_inputs()
INPUTS = {**TEXT, "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}
BATCH = {
    **INPUTS,
    "mask_ids": np.array([[7, 19], [0, 0], [4, 11]], "int32"),
    "mask_weights": np.array([[1, 1], [1, 0], [1, 1]], "float32"),
    "next_sentence_label": np.array([0, 1, 1], "int32"),
}


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


def test_parameters(model):
    # The output matrix is the token embedding: only the transform, the bias and the pair head are added.
    added = (8 * 8 + 8) + 2 * 8 + 20 + (8 * 2 + 2)
    assert model.count_params() == encoder_of(model).count_params() + added


def test_objective(model):
    objective = PretrainingObjective()
    sums = objective(model, BATCH, training=False)
    assert {name: float(weight) for name, weight in objective.weights(BATCH).items()} == {
        "masked_loss": 5,
        "next_sentence_loss": 3,
    }
    logits = model(INPUTS)
    masked = np.asarray(cross_entropy(logits["masked_tokens"], BATCH["mask_ids"])) * BATCH["mask_weights"]
    follows = np.asarray(cross_entropy(logits["next_sentence"], BATCH["next_sentence_label"]))
    right = np.asarray(logits["masked_tokens"]).argmax(-1) == BATCH["mask_ids"]
    expected = {
        "masked_loss": (masked.sum(), 5),
        "masked_accuracy": ((right * BATCH["mask_weights"]).sum(), 5),
        "next_sentence_loss": (follows.sum(), 3),
        "next_sentence_accuracy": (
            (np.asarray(logits["next_sentence"]).argmax(-1) == BATCH["next_sentence_label"]).sum(),
            3,
        ),
    }
    assert {name: tuple(map(float, pair)) for name, pair in sums.items()} == {
        name: pytest.approx(pair, rel=1e-5) for name, pair in expected.items()
    }


def test_objective_without_pairs():
    model = build_pretraining(build_encoder(CONFIG), next_sentence=False)
    objective = PretrainingObjective(next_sentence=False)
    assert objective.weights(BATCH).keys() == {"masked_loss"}
    assert objective(model, BATCH, training=False).keys() == {"masked_loss", "masked_accuracy"}


def test_what_has_no_weight_has_no_say(model):
    other = {**BATCH, "mask_ids": BATCH["mask_ids"].copy(), "mask_positions": BATCH["mask_positions"].copy()}
    other["mask_ids"][1, 1], other["mask_positions"][1, 1] = 13, 5
    losses = [float(PretrainingObjective()(model, batch, False)["masked_loss"][0]) for batch in (BATCH, other)]
    assert losses[0] == losses[1]
