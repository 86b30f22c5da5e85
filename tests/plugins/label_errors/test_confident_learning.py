"""Confident learning: equal to cleanlab on equal probabilities (tests/golden/label_errors.py), and by hand."""

from pathlib import Path

import numpy as np
import pytest

from plugins.label_errors.confident_learning import (
    confident_joint,
    confident_thresholds,
    find_label_errors,
    score_labels,
)

GOLDEN = np.load(Path(__file__).parents[2] / "golden/label_errors.npz")
CASES = sorted({name.partition("/")[0] for name in GOLDEN.files} - {"sentences", "sets"})


def read(case):
    return GOLDEN[f"{case}/labels"], GOLDEN[f"{case}/probabilities"]


def test_the_references_have_every_shape():
    assert len(CASES) == 8
    assert (GOLDEN["never confident/probabilities"][:, 3] < 0.5).all()
    counts = {case: len(GOLDEN[f"{case}/self_confidence ranks"]) for case in CASES}
    assert counts.pop("all right") == 0
    assert min(counts.values()) >= 5


@pytest.mark.parametrize("case", CASES)
def test_the_joint_is_cleanlabs(case):
    labels, probabilities = read(case)
    joint = confident_joint(labels, probabilities)
    np.testing.assert_array_equal(joint, GOLDEN[f"{case}/joint"])
    np.testing.assert_array_equal(joint.sum(axis=1), np.bincount(labels, minlength=probabilities.shape[1]))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("score", ["self_confidence", "normalized_margin"])
def test_rows_and_ranks_are_cleanlabs(case, score):
    labels, probabilities = read(case)
    scores = score_labels(labels, probabilities, score)
    np.testing.assert_allclose(scores, GOLDEN[f"{case}/{score}"], rtol=0, atol=1e-15)
    rows, ranked = np.flatnonzero(find_label_errors(labels, probabilities)), GOLDEN[f"{case}/{score} ranks"]
    ours = rows[np.argsort(scores[rows], kind="stable")]
    np.testing.assert_array_equal(ours, ranked)


def test_sentences_are_ranked_by_their_worst_word_as_in_cleanlab():
    labels, probabilities = read("balanced")
    scores = score_labels(labels, probabilities).reshape(-1, 4)
    np.testing.assert_allclose(scores.min(axis=1), GOLDEN["sentences/scores"], rtol=0, atol=1e-15)
    words = np.argwhere(find_label_errors(labels, probabilities).reshape(-1, 4))
    order = np.argsort([scores[sentence, word] for sentence, word in words], kind="stable")
    np.testing.assert_array_equal(words[order], GOLDEN["sentences/words"])


def test_of_several_labels_each_is_judged_by_itself_as_in_cleanlab():
    given, shares = GOLDEN["sets/given"].astype(int), GOLDEN["sets/shares"]
    for label in range(given.shape[1]):
        both = np.stack([1 - shares[:, label], shares[:, label]], axis=1)
        np.testing.assert_array_equal(find_label_errors(given[:, label], both), GOLDEN["sets/wrong"][:, label])


def test_a_planted_flip_is_found_alone_and_nothing_reaches_a_class_without_rows():
    labels = np.repeat([0, 1, 2], 30)
    probabilities = np.full((90, 3), 0.05)
    probabilities[np.arange(90), labels] = 0.9
    labels[[4, 40]] = [2, 0]
    assert np.flatnonzero(find_label_errors(labels, probabilities)).tolist() == [4, 40]
    assert np.argsort(score_labels(labels, probabilities))[:2].tolist() == [4, 40]
    thresholds = confident_thresholds(np.array([0, 0]), np.array([[0.1, 0.9], [0.3, 0.7]]))
    np.testing.assert_allclose(thresholds, [0.2, 2.0])


def test_likely_labels_are_never_wrong_and_the_order_does_not_matter():
    for case in CASES:
        labels, probabilities = read(case)
        wrong = find_label_errors(labels, probabilities)
        assert (probabilities[wrong].argmax(axis=1) != labels[wrong]).all()
    labels, probabilities = read("balanced")
    order = np.random.default_rng(0).permutation(len(labels))
    np.testing.assert_array_equal(
        find_label_errors(labels[order], probabilities[order]), find_label_errors(labels, probabilities)[order]
    )


@pytest.mark.parametrize(("labels", "probabilities"), [([], np.empty((0, 2))), ([0, 1], np.ones((3, 2)))])
def test_arrays_that_do_not_fit_are_refused(labels, probabilities):
    with pytest.raises(ValueError, match=r"labels must be \(rows,\) and probabilities \(rows, classes\), got"):
        find_label_errors(np.array(labels, int), probabilities)
