import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.losses import cross_entropy
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import add_span_boundary, build_pretraining
from keras_bert.objectives.pretraining import PretrainingObjective, ReplacedTokensObjective, measure_replaced
from keras_bert.options.pretraining import Generator
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.models.test_pretraining import CONFIG, INPUTS
from tests.keras_bert.models.test_replaced_tokens import HIDDEN, TEXT, make_joint

LONG = EncoderConfig(**{**vars(CONFIG), "max_length": 30})
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


def test_pairs_may_be_left_out_and_what_has_no_weight_has_no_say(model):
    alone = build_pretraining(build_encoder(CONFIG), next_sentence=False)
    objective = PretrainingObjective(next_sentence=False)
    assert objective.weights(BATCH).keys() == {"masked_loss"}
    assert objective(alone, BATCH, training=False).keys() == {"masked_loss", "masked_accuracy"}
    other = {**BATCH, "mask_ids": BATCH["mask_ids"].copy(), "mask_positions": BATCH["mask_positions"].copy()}
    other["mask_ids"][1, 1], other["mask_positions"][1, 1] = 13, 5
    losses = [float(PretrainingObjective()(model, batch, False)["masked_loss"][0]) for batch in (BATCH, other)]
    assert losses[0] == losses[1]


def test_span_boundaries():
    keras.utils.set_random_seed(0)
    plain = build_pretraining(build_encoder(LONG), next_sentence=False)
    randomize(plain)
    model = add_span_boundary(plain)
    randomize(model, seed=1)
    # A span of 22 tokens, of which the last two have no place; one of two; and filling.
    positions = np.array([[*range(1, 23), 25, 26, 0]], "int32")
    ids = {"token_ids": np.full((1, 30), 7, "int32"), "segment_ids": np.zeros((1, 30), "int32")}
    batch = {**ids, "padding_mask": np.ones((1, 30), "int32"), "mask_positions": positions}
    batch["mask_ids"] = np.arange(25, dtype="int32")[None] % 20
    batch["mask_weights"] = (positions > 0).astype("float32")
    objective = PretrainingObjective(next_sentence=False, span_boundary=True)
    counted = batch["mask_weights"] * ~np.isin(np.arange(25), [20, 21])
    assert counted.sum() == 22
    assert {name: float(weight) for name, weight in objective.weights(batch).items()} == {
        "masked_loss": 24,
        "boundary_loss": 22,
    }
    sums = {name: tuple(map(float, pair)) for name, pair in objective(model, batch, training=False).items()}
    inputs = {name: batch[name] for name in model.input}
    logits = np.asarray(model(inputs)["boundary_tokens"])
    losses = np.asarray(cross_entropy(logits, batch["mask_ids"])) * counted
    assert sums["boundary_loss"] == pytest.approx((losses.sum(), 22), rel=1e-5)
    right = (logits.argmax(-1) == batch["mask_ids"]) * counted
    assert sums["boundary_accuracy"] == (right.sum(), 22)
    # The output matrix is the token embedding, and all else is as it was without the head.
    states = model.get_layer("span_boundary_transform")(
        encoder_of(plain)({name: batch[name] for name in INPUT_NAMES})["sequence_output"], positions
    )
    table = plain.get_layer("token_embedding").embeddings.numpy()
    bias = model.get_layer("span_boundary_bias").bias.numpy()
    np.testing.assert_allclose(logits, np.asarray(states) @ table.T + bias, atol=1e-4)
    np.testing.assert_array_equal(model(inputs)["masked_tokens"], plain(inputs)["masked_tokens"])


JOINT_BATCH = {**TEXT, **HIDDEN}
GENERATOR = Generator(size=0.5, weight=30.0)


def test_objective_of_replaced_tokens():
    joint, objective = make_joint(), ReplacedTokensObjective(GENERATOR)
    sums = {name: tuple(map(float, pair)) for name, pair in objective(joint, JOINT_BATCH, training=False).items()}
    outputs = {name: np.asarray(value) for name, value in joint(JOINT_BATCH).items()}
    mask, weights = TEXT["padding_mask"], HIDDEN["mask_weights"]
    # Each of the two losses is its mean, and the second counts for 30 of the first.
    weights_ = {name: float(weight) for name, weight in objective.weights(JOINT_BATCH).items()}
    assert weights_ == {"masked_loss": 5, "replaced_loss": pytest.approx(mask.sum() / 30)}
    masked = np.asarray(cross_entropy(outputs["masked_tokens"], HIDDEN["mask_ids"])) * weights
    labels, logits = outputs["is_replaced"], outputs["replaced_tokens"].astype("float64")
    assert 0 < labels.sum() <= 5
    shares = 1 / (1 + np.exp(-logits))
    losses = -np.where(labels == 1, np.log(shares), np.log(1 - shares)) * mask
    right = outputs["masked_tokens"].argmax(-1) == HIDDEN["mask_ids"]
    assert sums["masked_loss"] == pytest.approx((masked.sum(), 5), rel=1e-5)
    assert sums["masked_accuracy"] == ((right * weights).sum(), 5)
    assert sums["replaced_loss"] == pytest.approx((losses.sum(), mask.sum()), rel=1e-5)
    assert sums["replaced_accuracy"] == ((((logits > 0) == labels) * mask).sum(), mask.sum())


def test_what_is_found_of_what_was_replaced_and_the_identity():
    logits = np.array([[2.0, -1.0, 3.0, 4.0], [-2.0, -3.0, 1.0, 5.0]], "float32")
    labels, mask = np.array([[1, 1, 0, 1], [1, 0, 0, 0]]), np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    sums = {name: tuple(map(float, pair)) for name, pair in measure_replaced(logits, labels, mask).items()}
    assert sums["replaced_accuracy"] == (3, 7)
    assert sums["replaced_recall"] == (2, 4)
    assert sums["replaced_precision"] == (2, 4)
    assert ReplacedTokensObjective(GENERATOR).identity() == {
        "class": "ReplacedTokensObjective",
        "generator": {**vars(GENERATOR)},
    }
