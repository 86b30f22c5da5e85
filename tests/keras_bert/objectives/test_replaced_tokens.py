import numpy as np
import pytest

from keras_bert.core.losses import cross_entropy
from keras_bert.objectives.pretraining import ReplacedTokensObjective, measure_replaced
from keras_bert.options.pretraining import Generator
from tests.keras_bert.models.test_replaced_tokens import HIDDEN, TEXT, make_joint

BATCH = {**TEXT, **HIDDEN}
GENERATOR = Generator(size=0.5, weight=30.0)


def test_objective():
    joint, objective = make_joint(), ReplacedTokensObjective(GENERATOR)
    sums = {name: tuple(map(float, pair)) for name, pair in objective(joint, BATCH, training=False).items()}
    outputs = {name: np.asarray(value) for name, value in joint(BATCH).items()}
    mask, weights = TEXT["padding_mask"], HIDDEN["mask_weights"]
    # Each of the two losses is its mean, and the second counts for 30 of the first.
    weights_ = {name: float(weight) for name, weight in objective.weights(BATCH).items()}
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


def test_what_is_found_of_what_was_replaced():
    logits = np.array([[2.0, -1.0, 3.0, 4.0], [-2.0, -3.0, 1.0, 5.0]], "float32")
    labels, mask = np.array([[1, 1, 0, 1], [1, 0, 0, 0]]), np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    sums = {name: tuple(map(float, pair)) for name, pair in measure_replaced(logits, labels, mask).items()}
    assert sums["replaced_accuracy"] == (3, 7)
    assert sums["replaced_recall"] == (2, 4)
    assert sums["replaced_precision"] == (2, 4)


def test_identity():
    assert ReplacedTokensObjective(GENERATOR).identity() == {
        "class": "ReplacedTokensObjective",
        "generator": {**vars(GENERATOR)},
    }
