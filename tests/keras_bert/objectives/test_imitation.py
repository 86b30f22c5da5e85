import math

import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert.objectives.imitation import (
    Attentions,
    Cosine,
    HiddenStates,
    Relations,
    Similarities,
    States,
    StateSelection,
    Vectors,
)

MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], "float32")
NEEDS = StateSelection(), StateSelection()


def draw(*shape, seed):
    return np.random.default_rng(seed).normal(scale=1.5, size=shape).astype("float32")


def measure(loss, student, teacher):
    """The sum divided by its weight, after asking whether padding has a say in it."""
    mean = float(loss.distance(student, teacher, MASK)) / float(loss.weight(MASK))
    rubbish = [States(*(_with_rubbish(tensors) for tensors in read)) for read in (student, teacher)]
    again = float(loss.distance(*rubbish, MASK)) / float(loss.weight(MASK))
    np.testing.assert_allclose(again, mean, rtol=1e-6)
    return mean


def _with_rubbish(states):
    if isinstance(states, dict):
        return {kind: [_rubbish(tensor) for tensor in tensors] for kind, tensors in states.items()}
    return [_rubbish(tensor) for tensor in states]


def _rubbish(tensor):
    """Other values where a token, or one of two, is padding; vectors of texts have none."""
    if tensor.ndim == 2:
        return tensor
    real = MASK[:, :, None] if tensor.ndim == 3 else MASK[:, None, :, None] * MASK[:, None, None, :]
    return np.where(real > 0, tensor, draw(*tensor.shape, seed=99))


OUR_SCORES, THEIR_SCORES = ([draw(3, 2, 4, 4, seed=seed + layer) for layer in range(2)] for seed in (0, 10))


def mean_score_difference(ours, theirs, hidden=()):
    """The mean over heads and pairs of tokens, one row of the batch after the other."""
    total, count = 0.0, 0
    for row, length in enumerate(MASK.sum(axis=1).astype(int)):
        squares = (ours[row, :, :length, :length] - theirs[row, :, :length, :length]) ** 2
        for place in hidden:
            if max(place) < length:
                squares[:, *place] = 0
        total, count = total + squares.sum(), count + squares.size
    return total / count


def attended(scores):
    return States([], {"scores": scores})


def test_attentions_add_the_mean_squared_difference_but_of_scores_that_one_model_masks():
    expected = sum(map(mean_score_difference, OUR_SCORES, THEIR_SCORES))
    assert measure(Attentions(*NEEDS), attended(OUR_SCORES), attended(THEIR_SCORES)) == pytest.approx(
        expected, rel=1e-6
    )
    with pytest.raises(ValueError, match=r"^scores must have the teacher's 2 heads, got 1$"):
        Attentions(*NEEDS).distance(attended([OUR_SCORES[0][:, :1]]), attended([THEIR_SCORES[0]]), np.ones((3, 4)))
    ours, theirs = OUR_SCORES[0].copy(), THEIR_SCORES[0].copy()
    ours[:, :, 0, 3] -= 120
    theirs[:, :, 1, 0] -= 120
    expected = mean_score_difference(OUR_SCORES[0], THEIR_SCORES[0], hidden=[(0, 3), (1, 0)])
    assert measure(Attentions(*NEEDS), attended([ours]), attended([theirs])) == pytest.approx(expected, rel=1e-6)


def test_hidden_states_and_cosines_of_tokens_and_texts():
    ours, theirs = ([draw(3, 4, 6, seed=seed + layer) for layer in range(2)] for seed in (0, 10))
    real = MASK > 0
    expected = sum(((ours_[real] - other[real]) ** 2).mean() for ours_, other in zip(ours, theirs, strict=True))
    assert measure(HiddenStates(*NEEDS), States(ours, {}), States(theirs, {})) == pytest.approx(expected, rel=1e-6)
    assert measure(HiddenStates(*NEEDS), States(ours, {}), States([*map(np.copy, ours)], {})) == 0
    names = [HiddenStates(*NEEDS).projection(state) for state in range(3)]
    assert names == ["embeddings_hidden_states_projection", *["hidden_states_projection"] * 2]
    ours, theirs = draw(3, 4, 6, seed=0), draw(3, 4, 6, seed=1)
    expected = 1 - cosine(ours, theirs)[MASK > 0].mean()
    assert measure(Cosine(*NEEDS), States([ours], {}), States([theirs], {})) == pytest.approx(expected, rel=1e-5)
    assert measure(Cosine(*NEEDS), States([ours], {}), States([2 * ours], {})) == pytest.approx(0, abs=1e-6)
    ours, theirs = draw(3, 6, seed=0), draw(3, 6, seed=1)
    expected = 1 - cosine(ours, theirs).mean()
    assert measure(Vectors(*NEEDS), States([ours], {}), States([theirs], {})) == pytest.approx(expected, rel=1e-5)


def cosine(first, second):
    return (first * second).sum(axis=-1) / np.linalg.norm(first, axis=-1) / np.linalg.norm(second, axis=-1)


def test_similarities_of_all_texts_whatever_the_widths():
    ours, theirs = draw(3, 6, seed=0), draw(3, 4, seed=1)
    matrices = [np.array([[cosine(one, other) for other in vectors] for one in vectors]) for vectors in (ours, theirs)]
    expected = ((matrices[0] - matrices[1]) ** 2).mean()
    assert measure(Similarities(*NEEDS), States([ours], {}), States([theirs], {})) == pytest.approx(expected, rel=1e-5)


KINDS = ("query", "key", "value")


def divergence(ours, theirs, heads):
    """Of states (batch, length, width), or of scores: the mean over heads and tokens, one row after the other."""
    total, tokens = 0.0, 0
    for row, length in enumerate(MASK.sum(axis=1).astype(int)):
        for head in range(heads):
            ours_, other = (_log_relation(layer_states[row], head, heads, length) for layer_states in (ours, theirs))
            total += (np.exp(other) * (other - ours_)).sum() / heads
        tokens += length
    return total / tokens


def _log_relation(tensor, head, heads, length):
    if tensor.ndim == 3:
        return log_softmax(tensor[head, :length, :length].astype("float64"), axis=-1)
    size = tensor.shape[-1] // heads
    x = tensor[:length, head * size : (head + 1) * size].astype("float64")
    return log_softmax(x @ x.T / math.sqrt(size), axis=-1)


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_queries_keys_and_values_of_models_of_any_width(heads):
    ours, theirs = (
        {kind: [draw(3, 4, width, seed=seed + place)] for place, kind in enumerate(KINDS)}
        for width, seed in ((6, 0), (12, 10))
    )
    expected = sum(divergence(ours[kind][0], theirs[kind][0], heads) for kind in KINDS)
    distance = measure(Relations(*NEEDS, heads), States([], ours), States([], theirs))
    assert distance == pytest.approx(expected, rel=1e-5)
    assert distance > 0.01


def test_attention_and_the_relations_of_values():
    ours, theirs = (
        {"scores": [draw(3, 2, 4, 4, seed=seed)], "value": [draw(3, 4, width, seed=seed + 1)]}
        for width, seed in ((6, 0), (8, 10))
    )
    expected = sum(divergence(ours[kind][0], theirs[kind][0], 2) for kind in ("scores", "value"))
    distance = measure(Relations(*NEEDS, 2), States([], ours), States([], theirs))
    assert distance == pytest.approx(expected, rel=1e-5)


def test_padding_that_is_not_masked_is_found_out():
    states = {"query": [draw(3, 4, 6, seed=1)]}, {"query": [draw(3, 4, 6, seed=2)]}

    class Unmasked(Relations):
        def distance(self, student, teacher, mask):
            return super().distance(student, teacher, np.ones_like(mask))

    with pytest.raises(AssertionError):
        measure(Unmasked(*NEEDS, 2), *(States([], layer_states) for layer_states in states))
