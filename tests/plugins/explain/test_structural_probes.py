"""Structural probes: planted trees are found, and the scores are those of plain loops."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import spearmanr

from plugins.explain.states import word_states
from plugins.explain.structural_probes import (
    ParsedStates,
    distance_loss,
    fit_distances,
    squared_distances,
    structural_probe,
)
from plugins.explain.trees import attachment_score, distance_correlation, spanning_tree, tree_distances

TRAIN = ([["abc", "d", "ef"], ["g", "\x01", "a"]], [[2, 0, 2], [2, 0, 2]])
TEST = ([["d", "g", "a", "b", "c"], ["abc"]], [[2, 3, 0, 3, 4], [0]])


@pytest.fixture(scope="module")
def task(classifier):
    return classifier


def random_heads(rng, count):
    """A random tree: each word but the first in a random order depends on an earlier one."""
    order = rng.permutation(count)
    heads = [0] * count
    for place in range(1, count):
        heads[order[place]] = int(order[rng.integers(place)]) + 1
    return heads


def plain_distances(heads):
    """Steps up to the first common word, by loops."""

    def path(word):
        words = [word]
        while heads[words[-1]]:
            words.append(heads[words[-1]] - 1)
        return words

    def steps(one, other):
        return min(up + down for up, a in enumerate(path(one)) for down, b in enumerate(path(other)) if a == b)

    return [[steps(one, other) for other in range(len(heads))] for one in range(len(heads))]


def plain_tree(distances):
    """Kruskal's algorithm."""
    group, edges = list(range(len(distances))), set()
    for one, other in sorted(itertools.combinations(range(len(distances)), 2), key=lambda edge: distances[edge]):
        if group[one] != group[other]:
            edges.add((one, other))
            group = [group[one] if number == group[other] else number for number in group]
    return edges


def planted(rng, sentences, mixing):
    """States whose distances in some directions are those of the tree: each edge steps in another direction."""
    states, trees = [], []
    for _ in range(sentences):
        heads = random_heads(rng, int(rng.integers(5, 9)))
        steps = np.zeros((len(heads), 8))
        directions = iter(rng.permutation(8))
        # From the root down.
        for word in sorted(range(len(heads)), key=lambda word: plain_distances(heads)[heads.index(0)][word]):
            if heads[word]:
                steps[word] = steps[heads[word] - 1] + np.eye(8)[next(directions)]
        noise = rng.normal(size=(len(heads), 4)) * 3
        states.append(np.concatenate([steps, noise], axis=1) @ mixing)
        trees.append(tree_distances(heads))
    return states, trees


def test_distances_are_steps_in_the_tree_and_equal_states_are_near_each_other():
    rng = np.random.default_rng(0)
    for count in range(1, 12):
        heads = random_heads(rng, count)
        np.testing.assert_array_equal(tree_distances(heads), plain_distances(heads))
    states, tree = np.array([[0.0], [0.0], [3.0]]), tree_distances([0])
    assert spanning_tree(squared_distances(states, np.eye(1))) == {(0, 1), (0, 2)}
    assert np.isnan(attachment_score([tree], [tree]))
    assert np.isnan(distance_correlation([tree], [tree]))


def test_sentences_without_words_and_words_without_tokens(task):
    assert tree_distances([]).shape == (0, 0)
    train, test = (([[], *sentences], [[], *heads]) for sentences, heads in (TRAIN, TEST))
    probes, others = (structural_probe(task, *rows, layers=[1], epochs=2) for rows in ((train, test), (TRAIN, TEST)))
    np.testing.assert_array_equal(probes.maps, others.maps)
    np.testing.assert_array_equal(probes.attachment_scores, others.attachment_scores)
    parsed = ParsedStates.of(task, "train", TRAIN)
    assert [tree.tolist() for tree in parsed.trees] == [[[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 2], [2, 0]]]
    assert parsed.left_out == 1
    states = word_states(task, TRAIN[0]).states
    np.testing.assert_array_equal(np.concatenate(parsed.states, axis=1), states)


def test_scores_are_those_of_plain_loops():
    rng = np.random.default_rng(1)
    trees = [tree_distances(random_heads(rng, count)) for count in (1, 2, 5, 5, 7, 51)]
    predicted = [np.square(rng.normal(size=tree.shape)) for tree in trees]
    predicted = [array + array.T for array in predicted]
    edges = [{(a, b) for a, b in itertools.combinations(range(len(tree)), 2) if tree[a, b] == 1} for tree in trees]
    correct = sum(len(one & plain_tree(array)) for one, array in zip(edges, predicted, strict=True))
    assert [spanning_tree(array) for array in predicted] == [plain_tree(array) for array in predicted]
    assert attachment_score(predicted, trees) == correct / sum(map(len, edges))
    rows = {5: [], 7: []}
    for array, tree in zip(predicted, trees, strict=True):
        if len(tree) in rows:
            rows[len(tree)] += [spearmanr(*pair).statistic for pair in zip(array, tree, strict=True)]
    assert distance_correlation(predicted, trees) == pytest.approx(np.mean([np.mean(row) for row in rows.values()]))


def test_a_planted_tree_is_found():
    rng = np.random.default_rng(0)
    mixing = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    train, test = planted(rng, 150, mixing), planted(rng, 40, mixing)
    matrix = fit_distances(*train, rank=8, epochs=150, learning_rate=0.02)
    assert matrix.shape == (8, 12)
    predicted = [squared_distances(states, matrix) for states in test[0]]
    assert attachment_score(predicted, test[1]) == 1.0
    # Without rounding, words at the same distance have different ranks.
    assert distance_correlation([array.round() for array in predicted], test[1]) == pytest.approx(1.0)
    blind = [squared_distances(states, np.eye(12)) for states in test[0]]
    assert attachment_score(blind, test[1]) < 0.6


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    states, tree = rng.normal(size=(6, 5)), tree_distances(random_heads(rng, 6))

    def loss(flat):
        return distance_loss(flat.reshape(3, 5), states, tree)[0]

    def gradient(flat):
        return distance_loss(flat.reshape(3, 5), states, tree)[1].ravel()

    point = rng.normal(size=15)
    matrix = point.reshape(3, 5)
    plain = np.mean(
        [
            [abs(np.sum((matrix @ (a - b)) ** 2) - tree[i, j]) for j, b in enumerate(states)]
            for i, a in enumerate(states)
        ]
    )
    assert loss(point) == pytest.approx(plain)
    assert check_grad(loss, gradient, point) < 1e-5


def test_every_layer_has_a_probe(task):
    probes = structural_probe(task, TRAIN, TEST, epochs=2)
    assert probes.layers == (0, 1, 2)
    assert probes.maps.shape == (3, 8, 8)
    assert probes.left_out == (1, 0)
    states = ParsedStates.of(task, "test", TEST)
    for place, matrix in enumerate(probes.maps):
        predicted = [squared_distances(sentence[place], matrix) for sentence in states.states]
        assert probes.attachment_scores[place] == attachment_score(predicted, states.trees)
        assert probes.correlations[place] == distance_correlation(predicted, states.trees)
    assert probes.chain_attachment_score == 1.0
    assert probes.chain_correlation == pytest.approx(1.0)
    again = structural_probe(task, TRAIN, TEST, epochs=2, layers=[1])
    np.testing.assert_array_equal(again.maps[0], probes.maps[1])


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (([], []), {}, r"^train sentences must hold at least one sentence, got none$"),
        (([["a"]], []), {}, r"^train heads must be as many as train sentences \(1\), got 0$"),
        (([["a", "b"]], [[0]]), {}, r"^train heads\[0\] must be as many as train sentences\[0\] \(2\), got 1$"),
        (([["a", "b"]], [[2, 1]]), {}, r"^train heads\[0\] must be a tree: 0 for one word, .*, got \[2, 1\]$"),
        (([["a", "b"]], [[0, 0]]), {}, r"^train heads\[0\] must be a tree"),
        (([["a", "b"]], [[0, 3]]), {}, r"^train heads\[0\] must be a tree"),
        (([["a", "b", "c"]], [[0, 3, 2]]), {}, r"^train heads\[0\] must be a tree"),
        (([["a"]], [[0]]), {}, r"train sentences must hold a sentence with two words that have tokens, got \[1\]$"),
        (TRAIN, {"rank": 9}, r"^structural_probe\.rank must be from 1 to the 8 dimensions of a state, got 9$"),
        (TRAIN, {"layers": [3]}, r"^structural_probe\.layers must be numbers from 0 to 2, got \[3\]$"),
        (TRAIN, {"epochs": 0}, r"^structural_probe\.epochs must be at least 1, got 0$"),
        (TRAIN, {"learning_rate": 0.0}, r"^structural_probe\.learning_rate must be above 0, got 0\.0$"),
        (TRAIN[0], {}, r"^structural_probe\.train must be a pair \(sentences, heads\)"),
    ],
)
def test_wrong_rows_are_refused(task, train, options, message):
    with pytest.raises(ValueError, match=message):
        structural_probe(task, train, TEST, **options)

    with pytest.raises(ValueError, match=r"^structural_probe\.test sentences must hold a word that has tokens"):
        structural_probe(task, TRAIN, ([["\x01"]], [[0]]), epochs=1)
