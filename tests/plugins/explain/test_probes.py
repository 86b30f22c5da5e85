"""Probes against scikit-learn's on the same states, and on states with a planted tag."""

import collections

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plugins.explain.probes import ProbedWords, _control_tags, fit_probes, fit_scalar_mix, mix_loss, probe
from plugins.explain.states import word_states

TRAIN = ([["abc", "d", "ef"], ["g", "\x01", "a"], ["b", "ef"]], [["X", "Y", "Y"], ["X", "Z", "Y"], ["X", "Y"]])
TEST = ([["d", "g"], ["abc"]], [["Y", "X"], ["Y"]])


def planted(count, *, layers=3, kinds=4, seed=0):
    """Words whose tag stands in the middle layer alone; every word occurs about four times."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(kinds, size=count)
    states = rng.normal(size=(layers, count, 6)).astype("float32")
    states[1, :, :kinds] += 12 * np.eye(kinds, dtype="float32")[numbers]
    words = rng.integers(count // 4, size=count).astype(str)
    return ProbedWords(states, words, np.array(list("NVAD"))[numbers])


def test_probes_are_those_of_scikit_learn(classifier):
    probes = probe(classifier, TRAIN, TEST)
    states = [word_states(classifier, sentences).states for sentences, _ in (TRAIN, TEST)]
    tags = [[tag for row in rows for tag in row] for _, rows in (TRAIN, TEST)]
    tags[0].remove("Z")  # its word has no tokens
    for layer, accuracy in enumerate(probes.accuracy):
        fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(states[0][layer], tags[0])
        assert accuracy == fitted.score(states[1][layer], tags[1])
    assert probes.tags == ("X", "Y")
    assert probes.left_out == (1, 0)
    assert probes.majority_accuracy == pytest.approx(2 / 3)
    np.testing.assert_array_equal(probes.selectivity, probes.accuracy - probes.control_accuracy)


def test_a_planted_tag_is_found_in_its_layer():
    probes = fit_probes(planted(400), planted(200, seed=1))
    assert probes.accuracy[1] == 1.0
    assert probes.mix_accuracy == 1.0
    assert max(probes.accuracy[[0, 2]]) < 0.4
    assert probes.mix.weights.argmax() == 1
    assert probes.mix.weights.sum() == pytest.approx(1)
    assert probes.mix.center_of_gravity == pytest.approx(probes.mix.weights[1] + 2 * probes.mix.weights[2])
    assert probes.selectivity[1] > 0.5


def test_states_that_are_words_have_no_selectivity():
    rng = np.random.default_rng(0)
    tag_of_word = rng.choice(list("NV"), 12)
    vectors = 9 * np.eye(12)

    def words(count):
        numbers = rng.integers(12, size=count)
        return ProbedWords(vectors[numbers][None], numbers.astype(str), tag_of_word[numbers])

    probes = fit_probes(words(200), words(100), seed=1)
    assert probes.accuracy.tolist() == [1.0]
    assert probes.selectivity.tolist() == [0.0]
    rng = np.random.default_rng(0)

    def words(count):
        return ProbedWords(
            rng.normal(size=(2, count, 5)), rng.integers(99, size=count).astype(str), rng.choice(list("NV"), count)
        )

    assert np.abs(fit_probes(words(600), words(600)).accuracy - 0.5).max() < 0.08


def test_the_control_task_draws_a_tag_for_each_different_word():
    train, test = planted(3000), planted(2000, seed=1)
    fixed = ProbedWords(train.states, train.words, np.where(train.tags == "N", "N", "V"))
    states = np.zeros((1, len(fixed.words), 1))
    drawn = collections.defaultdict(set)

    numbers = np.unique(fixed.tags, return_inverse=True)[1]
    controls = _control_tags(fixed, test, numbers, seed=3)
    for words, tags in ((fixed.words, controls[0]), (test.words, controls[1])):
        for word, tag in zip(words, tags, strict=True):
            drawn[word].add(int(tag))
    assert all(len(tags) == 1 for tags in drawn.values())
    share = np.mean([tags == {0} for tags in drawn.values()])
    assert share == pytest.approx(np.mean(numbers == 0), abs=0.06)
    again = _control_tags(ProbedWords(states, *(fixed.words, fixed.tags)), test, numbers, seed=3)
    np.testing.assert_array_equal(again[0], controls[0])
    assert np.any(_control_tags(fixed, test, numbers, seed=4)[0] != controls[0])


def test_the_mix_of_one_layer_is_scikit_learns_classifier():
    words = planted(120)
    tags, numbers = np.unique(words.tags, return_inverse=True)
    states = words.states[2:].astype("float64")
    mix = fit_scalar_mix(states, numbers, len(tags))
    fitted = LogisticRegression(max_iter=1000, tol=1e-8).fit(states[0], numbers)
    np.testing.assert_allclose(mix.kernel.T, fitted.coef_, atol=1e-3)
    assert mix.weights.tolist() == [1.0]


def test_the_gradient_of_the_mix_is_that_of_its_loss():
    rng = np.random.default_rng(0)
    loss = mix_loss(rng.normal(size=(3, 7, 4)), rng.integers(3, size=7), 3)
    point = rng.normal(size=3 + 4 * 3 + 3)
    assert check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], point) < 1e-6


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (([], []), TEST, r"^train sentences must hold at least one sentence, got none$"),
        (TRAIN, (TEST[0], TEST[1][:1]), r"^test tags must be as many as test sentences \(2\), got 1$"),
        (([["a", "b"]], [["X"]]), TEST, r"^train tags\[0\] must be as many as train sentences\[0\] \(2\), got 1$"),
        (([["a", "b"]], [["X", "X"]]), TEST, r"^probe\.train tags must be of at least two kinds, .* got \['X'\]$"),
        (TRAIN, ([["a"]], [["Q"]]), r"^probe\.test tags must be among the training tags \['X', 'Y'\]; .* got \['Q'\]$"),
        (TRAIN[0], TEST, r"^probe\.train must be a pair \(sentences, tags\)"),
    ],
)
def test_wrong_rows_are_refused(classifier, train, test, message):
    with pytest.raises(ValueError, match=message):
        probe(classifier, train, test)
