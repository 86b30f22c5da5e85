import numpy as np
import pytest

from keras_bert.losses import cross_entropy
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining
from keras_bert.objectives.pretraining import PretrainingObjective
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.models.test_pretraining import CONFIG, INPUTS

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
