"""The scores of a search equal those of trec_eval, see tests/golden/retrieval.py."""

import itertools
import json
import math
from pathlib import Path

import keras
import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score, ndcg_score, precision_recall_curve, precision_score

from keras_bert.core.losses import IGNORED, labelled_cross_entropy
from keras_bert.metrics.accuracy import LabelledAccuracy, MicroF1
from keras_bert.metrics.label_thresholds import (
    choose_thresholds,
    find_best_threshold,
    find_precise_threshold,
    label_probabilities,
    with_absence,
)
from keras_bert.metrics.regression import correlations, number_errors
from keras_bert.metrics.retrieval import METRICS, query_scores, rank_passages, rank_scores, retrieval_scores, score_list

LOGITS = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")
LABELS = np.array([[1, -1, -1, -1], [2, 3, -1, 0], [-1, -1, -1, -1]])


def test_only_labelled_places_count():
    labelled = LABELS != IGNORED
    shares = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    losses = -shares[labelled, LABELS[labelled]]
    right = LOGITS.argmax(-1)[labelled] == LABELS[labelled]
    assert float(labelled_cross_entropy()(LABELS, LOGITS)) == pytest.approx(losses.mean(), rel=1e-5)
    accuracy = LabelledAccuracy()
    accuracy.update_state(LABELS, LOGITS)
    accuracy.update_state(LABELS[:1], LOGITS[:1])
    assert float(accuracy.result()) == pytest.approx((right.sum() + right[0]) / 5)
    accuracy = LabelledAccuracy()
    right = LOGITS.argmax(-1)
    accuracy.update_state(np.where(LABELS == 3, right, LABELS), LOGITS, sample_weight=(LABELS == 3).astype("float32"))
    assert float(accuracy.result()) == 1
    inputs = keras.Input((4, 5))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=labelled_cross_entropy(), metrics=[LabelledAccuracy()])
    loss, accuracy = model.evaluate(LOGITS, LABELS, batch_size=3, verbose=0)
    assert loss == pytest.approx(float(labelled_cross_entropy()(LABELS, LOGITS)), rel=1e-5)
    assert accuracy == pytest.approx((LOGITS.argmax(-1) == LABELS)[LABELS != IGNORED].mean())


def test_micro_f1_is_that_of_scikit_learn_over_batches():
    chance = np.random.default_rng(0)
    logits, flags = chance.normal(size=(40, 6)).astype("float32"), chance.integers(0, 2, (40, 6))
    metric = MicroF1()
    metric.update_state(flags[:7], logits[:7])
    metric.update_state(flags[7:], logits[7:])
    assert float(metric.result()) == pytest.approx(f1_score(flags, logits > 0, average="micro"))
    weights = chance.uniform(size=(40, 1)).astype("float32")
    expected = f1_score(flags.ravel(), logits.ravel() > 0, sample_weight=np.repeat(weights, 6))
    assert float(MicroF1()(flags, logits, sample_weight=weights)) == pytest.approx(expected)
    assert float(MicroF1()(np.eye(20), np.full((20, 20), -1.0))) == 0, "95 % of the decisions are right"


def test_by_hand_and_that_ties_share_their_rank():
    # Ranks 1 3 2 4 against 1 2 3 4: 1 - 6 * 2 / (4 * 15).
    result = correlations([1, 5, 4, 100], [0.1, 0.2, 0.3, 0.4])
    assert result["spearman"] == pytest.approx(0.8)
    assert result["pearson"] == pytest.approx(14.8 / (7017 * 0.05) ** 0.5)
    assert correlations([1, 1, 2], [1, 1, 3])["spearman"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("predicted", "truth", "message"),
    [
        ([1.0], [1.0], "predicted must hold at least 2 different numbers, got 1 in 1 values"),
        ([1.0, 2.0], [3.0, 3.0], "truth must hold at least 2 different numbers, got 1 in 2 values"),
        ([1.0, 2.0, float("nan")], [1.0, 2.0, 3.0], "predicted must hold finite numbers, got nan at index 2"),
        ([1.0, 2.0], [float("inf"), 2.0], "truth must hold finite numbers, got inf at index 0"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"truth must hold 2 numbers, as many as predicted, got 3"),
    ],
)
def test_refuses_values_without_correlation(predicted, truth, message):
    with pytest.raises(ValueError, match=message):
        correlations(predicted, truth)


def test_errors_by_hand():
    # Errors 0, -1 and 1; distances of the truth from its mean 3: -2, 0 and 2.
    errors = number_errors([1.0, 2.0, 6.0], [1.0, 3.0, 5.0])
    assert errors == pytest.approx({"r2": 1 - 2 / 8, "rmse": (2 / 3) ** 0.5, "mae": 2 / 3})
    assert number_errors([3.0] * 3, [1.0, 3.0, 5.0])["r2"] == 0


@pytest.mark.parametrize(
    ("truth", "message"),
    [([1.0], "truth must hold 2 numbers, as many as predicted"), ([1.0, 1.0], "at least 2 different numbers")],
)
def test_refuses_numbers_without_errors(truth, message):
    with pytest.raises(ValueError, match=message):
        number_errors([1.0, 2.0], truth)


GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "retrieval.json").read_text())


def test_scores_equal_trec_eval():
    ranks = [
        rank_scores(np.array(row), places) for row, places in zip(GOLDEN["scores"], GOLDEN["relevant"], strict=True)
    ]
    for query, expected in zip(ranks, GOLDEN["expected"], strict=True):
        scores = query_scores(query)
        assert scores.keys() == set(METRICS)
        assert scores == pytest.approx(expected, abs=1e-9)
    means = {name: np.mean([row[name] for row in GOLDEN["expected"]]) for name in METRICS}
    assert retrieval_scores(ranks) == pytest.approx(means, abs=1e-9)
    assert 0.2 < means["ndcg_at_10"] < 0.9, "the reference would tell nothing"


def test_ranks_are_those_of_the_cosines_sorted():
    chance = np.random.default_rng(0)
    queries, passages = chance.normal(size=(300, 8)), chance.normal(size=(50, 8))
    relevant = [chance.choice(50, 3, replace=False).tolist() for _ in queries]
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (
        passages / np.linalg.norm(passages, axis=1, keepdims=True)
    ).T
    orders = np.argsort(-cosines, axis=1, kind="stable").tolist()
    expected = [
        tuple((rank, rank) for rank in sorted(order.index(place) + 1 for place in row))
        for order, row in zip(orders, relevant, strict=True)
    ]
    assert rank_passages(queries, passages, relevant) == expected
    # The length of a vector does not matter.
    assert rank_passages(7 * queries, passages * chance.uniform(1, 9, (50, 1)), relevant) == expected


@pytest.mark.parametrize("relevant", [[0], [3, 5], [0, 1, 5]])
def test_ties_count_as_the_mean_over_all_their_orders(relevant):
    scores = np.array([0.5, 0.5, 0.9, 0.5, 0.2, 0.2])
    values = []
    for shuffled in itertools.permutations(range(6)):
        order = sorted(shuffled, key=lambda place: -scores[place])
        values.append(query_scores(sorted(order.index(place) + 1 for place in relevant)))
    expected = {name: np.mean([row[name] for row in values]) for name in METRICS}
    assert query_scores(rank_scores(scores, relevant)) == pytest.approx(expected)


def test_a_constant_score_earns_what_a_random_order_earns():
    """Ranked by index, the only passage of the first query was first."""
    scores = query_scores(rank_scores(np.zeros(100), [0]))
    assert scores["recall_at_1"] == pytest.approx(0.01)
    assert scores["mrr_at_10"] == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 100)
    assert scores == pytest.approx(query_scores(rank_scores(np.zeros(100), [99])))


@pytest.mark.parametrize("relevant", [[], [5], [-1]])
def test_relevant_passages_must_exist(relevant):
    with pytest.raises(ValueError, match="relevant must hold indices of 5 passages, at least one"):
        rank_scores(np.zeros(5), relevant)


def test_passages_count_once_and_nan_has_no_rank():
    """Twice, it had an nDCG of 1.23."""
    assert rank_scores(np.array([0.5, 0.9]), [1, 1]) == ((1, 1),)
    for ranks in ((1, 1), (0, 1), (), (math.nan, 2), ((1, 3), (2, 2)), ((1, 2),) * 3):
        with pytest.raises(ValueError, match="ranks must be different and at least 1, one for each relevant passage"):
            query_scores(ranks)
    with pytest.raises(ValueError, match="ranks must hold the ranks of at least one query"):
        retrieval_scores([])
    # Comparisons with NaN would rank every passage first.
    with pytest.raises(ValueError, match="scores must be numbers, got NaN for passage 1"):
        rank_scores(np.array([0.5, np.nan]), [0])
    with pytest.raises(ValueError, match="scores must be numbers, got NaN for passage 0"):
        rank_passages(np.full((1, 2), np.nan), np.ones((3, 2)), [[1]])


def rows(seed, count=60, steps=12):
    """Probabilities with ties, and truths that are likelier where they are large."""
    chance = np.random.default_rng(seed)
    shares = np.round(chance.uniform(size=count) * steps) / steps
    return shares, chance.uniform(size=count) < shares**2


@pytest.mark.parametrize("seed", range(8))
def test_the_threshold_has_the_best_f1_of_scikit_learns_curve(seed):
    shares, truth = rows(seed)
    precision, recall, _ = precision_recall_curve(truth, shares)
    best = np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    threshold = find_best_threshold(shares, truth)
    assert f1_score(truth, shares >= threshold) == pytest.approx(best, abs=1e-9)
    assert np.abs(shares - threshold).min() > 0.01, "rounding elsewhere moves no probability over it"


@pytest.mark.parametrize("seed", range(8))
def test_the_threshold_of_a_precision_is_the_lowest_that_reaches_it(seed):
    shares, truth = rows(seed)
    reached = [cut for cut in np.unique(shares) if precision_score(truth, shares >= cut) >= 0.8]
    threshold = find_precise_threshold(shares, truth, 0.8)
    if not reached:
        assert threshold is None
        return
    np.testing.assert_array_equal(shares >= threshold, shares >= min(reached))


@pytest.mark.parametrize("higher", [0.5, np.nextafter(0.5, 1), 1.0, np.nextafter(0, 1)])
def test_neighbouring_probabilities_are_separated(higher):
    shares, truth = np.array([higher, np.nextafter(higher, 0)]), np.array([True, False])
    for threshold in (find_best_threshold(shares, truth), find_precise_threshold(shares, truth, 1.0)):
        assert (shares >= threshold).tolist() == [True, False]


def test_labels_of_no_or_every_row_and_probabilities():
    shares = np.array([0.25, 0.75])
    assert find_best_threshold(shares, np.array([False, False])) == 0.5
    assert find_best_threshold(shares, np.array([True, True])) == 0.125
    assert find_precise_threshold(shares, np.array([False, False]), 0.5) is None
    assert find_precise_threshold(shares, np.array([True, True]), 1.0) == 0.125
    logits = np.array([[0.0, 3.0], [-800.0, 800.0]])
    np.testing.assert_allclose(label_probabilities(logits), expit(logits), atol=1e-12)
    np.testing.assert_allclose(label_probabilities(logits, 2.0), expit(logits / 2), atol=1e-12)
    assert with_absence(logits).shape == (2, 2, 2)


def labelled_rows(seed, count, rates, slips):
    """Probabilities of labels with different rates; the logits of a label are off by its slip."""
    chance = np.random.default_rng(seed)
    truth = chance.uniform(size=(count, len(rates))) < rates
    logits = chance.normal(np.where(truth, 1.5, -1.5), 1.2) + np.log(rates) / 2 + slips
    return label_probabilities(logits), truth


@pytest.mark.parametrize("seed", range(4))
def test_rare_labels_take_their_threshold_from_the_others(seed):
    """With the best F1 of each label, thresholds of labels with 1 to 5 rows of 132 gave them to many rows."""
    rates = np.array([0.3, 0.2, *[0.015] * 12])
    shares, truth = labelled_rows(seed, 132, rates, 0.0)
    tested, right = labelled_rows(99, 4000, rates, 0.0)
    separate = [find_best_threshold(*column) for column in zip(shares.T, truth.T, strict=True)]
    common = find_best_threshold(shares.ravel(), truth.ravel())
    scores = {
        name: f1_score(right, tested >= np.array(thresholds), average="micro")
        for name, thresholds in (
            ("chosen", choose_thresholds(shares, truth)),
            ("separate", separate),
            ("common", [common] * 14),
        )
    }
    assert scores["chosen"] > scores["separate"] + 0.01
    assert scores["chosen"] > scores["common"] - 0.03


def test_labels_with_many_rows_have_thresholds_of_their_own():
    rates, slips = np.array([0.2, 0.2, 0.2]), np.array([-3.0, 0.0, 3.0])
    shares, truth = labelled_rows(0, 1000, rates, slips)
    separate = [find_best_threshold(*column) for column in zip(shares.T, truth.T, strict=True)]
    np.testing.assert_allclose(choose_thresholds(shares, truth), separate, atol=0.02)
    assert separate[0] < 0.1 < 0.9 < separate[2]


def test_a_label_without_rows_has_the_common_threshold_and_a_precision_is_reached_together():
    rates = np.array([0.3, 0.2, *[0.015] * 12])
    shares, truth = labelled_rows(0, 300, rates, 0.0)
    truth[:, 5] = False
    tested, right = labelled_rows(99, 4000, rates, 0.0)
    separate = [find_precise_threshold(*column, 0.8) for column in zip(shares.T, truth.T, strict=True)]
    given = [
        tested >= np.array([math.inf if value is None else value for value in thresholds])
        for thresholds in (choose_thresholds(shares, truth, 0.8), separate)
    ]
    assert separate[5] is None
    chosen, apart = (precision_score(right, flags, average="micro") for flags in given)
    assert chosen > 0.75 > apart
    common = find_best_threshold(np.delete(shares, 5, 1).ravel(), np.delete(truth, 5, 1).ravel())
    assert choose_thresholds(shares, truth)[5] == pytest.approx(common, abs=0.05)
    assert choose_thresholds(shares, np.zeros_like(truth), 0.8) == [None] * 14
    assert choose_thresholds(shares[:1], truth[:1] | True)[0] < shares[0, 0]


def test_lists_have_the_ndcg_of_scikit_learn_and_the_mrr_of_their_ranks():
    chance = np.random.default_rng(0)
    for length in (2, 9, 30):
        scores, grades = chance.normal(size=length), chance.integers(0, 4, length).astype(float)
        grades[0] = 1.0
        scored = score_list(scores.tolist(), grades.tolist())
        assert scored["ndcg_at_10"] == pytest.approx(ndcg_score([grades], [scores], k=10))
        binary = score_list(scores.tolist(), (grades > 2).astype(float).tolist()) if (grades > 2).any() else None
        if binary is not None:
            expected = query_scores(rank_scores(scores, np.flatnonzero(grades > 2).tolist()))
            assert binary == pytest.approx({name: expected[name] for name in binary})
    assert score_list([1.0, 1.0, 1.0], [3.0, 0.0, 0.0])["mrr_at_10"] == pytest.approx(1 / 3), (
        "equal scores earn nothing"
    )
    assert score_list([*range(11)], [1.0, *[0.0] * 10]) == {"ndcg_at_10": 0.0, "mrr_at_10": 0.0}
    for scores, grades, message in (
        ([1.0], [1.0, 0.0], r"scores must be a number for each of 2 relevances, got \[1.0\]"),
        ([1.0, math.nan], [1.0, 0.0], "scores must be a number for each"),
        ([1.0, 2.0], [1.0, -1.0], r"relevances must be at least 0, and one of them above 0, got \[1.0, -1.0\]"),
        ([1.0, 2.0], [0.0, 0.0], "relevances must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            score_list(scores, grades)
