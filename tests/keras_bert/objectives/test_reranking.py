"""The likelihood of orders: as sentence-transformers has it, and where passages are equally relevant."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.objectives.reranking import ListLoss, RerankingObjective, order_losses
from tests.keras_bert.objectives.kinds import KINDS, build, run

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "reranking.json").read_text())
SCORES, RELEVANCES, LISTS = (np.array(GOLDEN[name]) for name in ("scores", "relevances", "lists"))
LENGTHS = np.bincount(LISTS)
# Lists of three, two and one: with two relevant passages, with equal ones, and alone.
MIXED = np.array([0.5, 2.0, 1.0, 3.0, -1.0, 7.0], "float32")
GRADES, NUMBERS = np.array([1, 0, 2, 1, 1, 0], "float32"), np.array([4, 4, 4, 0, 0, 9], "int32")


def test_different_relevances_have_the_loss_and_gradient_of_list_mle():
    scores = keras.ops.convert_to_tensor(SCORES, "float32")
    losses, _, shares = (np.asarray(part) for part in order_losses(scores, RELEVANCES, LISTS))
    counted = [(losses * shares)[number == LISTS].sum() for number in range(len(LENGTHS))]
    assert counted == pytest.approx(np.array(GOLDEN["losses"]) / (LENGTHS - 1), abs=1e-5)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        variable = tf.Variable(SCORES, dtype="float32")
        with tf.GradientTape() as tape:
            losses, _, shares = order_losses(variable, RELEVANCES, LISTS)
            total = tf.reduce_sum(losses * shares)
        expected = np.array(GOLDEN["gradient"]) / (LENGTHS - 1)[LISTS]
        np.testing.assert_allclose(tape.gradient(total, variable), expected, atol=1e-5)


def test_a_relevant_passage_is_told_from_less_relevant_ones_alone():
    losses, first, shares = (np.asarray(part) for part in order_losses(MIXED, GRADES, NUMBERS))
    best = -log_softmax([1.0, 0.5, 2.0])[0]
    second = -log_softmax([0.5, 2.0])[0]
    assert losses[[2, 0]] == pytest.approx([best, second], abs=1e-6)
    assert shares.tolist() == [0.5, 0, 0.5, 0, 0, 0]
    assert first[[0, 2]].tolist() == [0, 0]
    batch = {"value": GRADES, "list": NUMBERS}
    sums = RerankingObjective().measure(MIXED[:, None], batch)
    assert [float(part) for part in sums["loss"]] == pytest.approx([(best + second) / 2, 3])
    assert [float(part) for part in sums["accuracy"]] == [0, 1]
    shuffled = np.random.default_rng(0).permutation(6)
    again = RerankingObjective().measure(MIXED[shuffled, None], {name: part[shuffled] for name, part in batch.items()})
    assert float(again["loss"][0]) == pytest.approx(float(sums["loss"][0]))
    labels = np.stack([GRADES, NUMBERS], axis=1)
    assert float(ListLoss()(labels, MIXED[:, None])) == pytest.approx((best + second) / 2 / 3)
    restored = keras.losses.deserialize(keras.losses.serialize(ListLoss()))
    assert float(restored(labels, MIXED[:, None])) == pytest.approx((best + second) / 2 / 3)


def test_each_list_has_the_same_weight_in_loss_and_distance():
    objective, batch = KINDS["reranking"]
    sums = run(objective, build("reranking"), batch)
    assert sums["loss"][1] == pytest.approx(2)
    student, teacher = np.array([[1.0], [3.0], [5.0]], "float32"), np.zeros((3, 1), "float32")
    distances = np.asarray(objective.distances(student, teacher, batch, 2.0)) * np.asarray(
        objective.loss_weights(batch)
    )
    assert distances.sum() == pytest.approx((1 + 9) / 2 + 25)
    labels = objective.labels_from(student, batch)
    assert (labels["value"].tolist(), labels["list"].tolist()) == ([1, 3, 5], [0, 0, 1])
