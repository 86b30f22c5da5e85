"""Layers beside others, by their formulas."""

import math

import keras
import numpy as np
import pytest

from keras_bert.layers.adapters import BottleneckAdapter, LowRankAdapter, PromptPlaces, SoftPrompt, TokenStates
from keras_bert.layers.noise import gumbel_noise, mix, row_seeds, seeded_bits
from keras_bert.layers.replacement import TokenReplacement
from keras_bert.layers.span_boundary import SPAN_POSITIONS, SpanBoundaryTransform, find_boundaries
from tests.conformance import check_config, check_gradients, check_precision, make_model
from tests.keras_bert.models.test_encoder import ACTIVATIONS, dense, layer_norm

POSITIONS = np.array([[1, 4, 7], [2, 3, 0], [1, 4, 7]], "int32")
IDS = np.array([[9, 8, 7], [9, 8, 0], [9, 8, 6]], "int32")


def seeds(seed=(3, 0), rows=slice(None)):
    return [np.asarray(part) for part in row_seeds(np.array(seed), POSITIONS[rows], IDS[rows])]


def test_mix_is_the_published_permutation():
    x = 123456789
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        x = ((x ^ x >> shift) * factor) % 2**32
    assert int(mix(np.array([123456789], "uint32"))[0]) == x ^ x >> 15
    numbers = np.asarray(mix(np.arange(2**16, dtype="uint32")))
    assert len(set(numbers.tolist())) == 2**16


def test_layers_do_not_draw_one_sequence_from_other_offsets():
    # The numbers of two layers that are hashed to neighbours.
    hashes = np.asarray(mix(np.arange(4096, dtype="uint32"))).astype("int64")
    order = np.argsort(hashes)
    nearest = np.diff(hashes[order]).argmin()
    offset = hashes[order[nearest + 1]] - hashes[order[nearest]]
    counters = np.arange(offset + 1000, dtype="uint32")
    one, other = (
        np.asarray(seeded_bits(counters, np.array([number, 0], "uint32"))) for number in order[nearest : nearest + 2]
    )
    assert not np.isin(one[offset:], other[:1000]).any()


def test_seeds_follow_from_the_row_and_not_from_those_beside_it():
    whole = seeds()
    for order in ([2, 0], [1]):
        for part, all_rows in zip(seeds(rows=order), whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[order])
    # Of rows that differ in one token, and of the places of a row, none has that of another.
    assert len(set(whole[0].ravel().tolist())) == whole[0].size


@pytest.mark.parametrize("other", [(4, 0), (3, 1)])
def test_seeds_follow_from_both_numbers_of_the_generator(other):
    assert not set(seeds()[1].ravel().tolist()) & set(seeds(other)[1].ravel().tolist())


def test_the_largest_of_scores_and_noise_is_drawn_from_their_softmax():
    shares, rows = np.array([0.5, 0.3, 0.15, 0.05]), 40_000
    first = np.asarray(mix(np.arange(rows, dtype="uint32")))[:, None]
    noise = np.asarray(gumbel_noise(np.arange(4, dtype="uint32"), first, mix(first)))
    counts = np.bincount((noise + np.log(shares)).argmax(axis=1), minlength=4)
    # Four standard deviations of each count.
    np.testing.assert_array_less(np.abs(counts / rows - shares), 4 * np.sqrt(shares * (1 - shares) / rows))
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.02)
    assert noise.std() == pytest.approx(np.pi / 6**0.5, abs=0.02)


TOKEN_IDS = np.array([[2, 4, 11, 4, 3, 0], [2, 10, 4, 12, 13, 3]], "int32")
HIDDEN = {
    "mask_positions": np.array([[1, 3], [2, 0]], "int32"),
    "mask_ids": np.array([[10, 12], [11, 0]], "int32"),
    "mask_weights": np.array([[1, 1], [1, 0]], "float32"),
}
SCORES = np.random.default_rng(0).normal(size=(2, 2, 15)).astype("float32")


def call(layer, rows=slice(None), scores=SCORES, **options):
    hidden = [array[rows] for array in HIDDEN.values()]
    return [np.asarray(part) for part in layer(scores[rows], TOKEN_IDS[rows], *hidden, **options)]


def test_hidden_places_change_unless_guessed_right():
    drawn = np.array([[10, 7], [6, 9]], "int32")
    token_ids, is_replaced = TokenReplacement.replace(drawn, TOKEN_IDS, *HIDDEN.values())
    # 10 was the text's own; the filling of the second row changes nothing.
    np.testing.assert_array_equal(token_ids, [[2, 10, 11, 7, 3, 0], [2, 10, 6, 12, 13, 3]])
    np.testing.assert_array_equal(is_replaced, [[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]])
    scores = np.full_like(SCORES, -1e4)
    np.put_along_axis(scores, HIDDEN["mask_ids"][:, :, None], 1e4, axis=2)
    token_ids, is_replaced = call(TokenReplacement(), scores=scores, training=True)
    np.testing.assert_array_equal(token_ids, [[2, 10, 11, 12, 3, 0], [2, 10, 11, 12, 13, 3]])
    assert not is_replaced.any()


@pytest.mark.parametrize("training", [False, True])
def test_draws_do_not_depend_on_the_worker(training):
    whole = call(TokenReplacement(seed=5), training=training)
    for rows in ([0], [1]):  # as two devices have them, each with a generator that stands where the others do
        for part, all_rows in zip(call(TokenReplacement(seed=5), rows, training=training), whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[rows])


def test_each_step_draws_others_and_validation_always_the_same():
    layer = TokenReplacement(seed=5)
    steps = [tuple(call(layer, training=True)[0].ravel().tolist()) for _ in range(20)]
    assert len(set(steps)) > 10
    state = layer.seed_generator.state.numpy()
    np.testing.assert_array_equal(call(layer)[0], call(layer)[0])
    np.testing.assert_array_equal(layer.seed_generator.state.numpy(), state)
    assert any(variable is layer.seed_generator.state for variable in layer.variables)


def test_tokens_are_drawn_as_often_as_the_generator_deems_them_likely():
    layer, shares = TokenReplacement(seed=1), np.exp(SCORES[0, 0]) / np.exp(SCORES[0, 0]).sum()
    drawn = [call(layer, [0], training=True)[0][0, 1] for _ in range(200)]
    counts = np.bincount(drawn, minlength=15) / 200
    np.testing.assert_array_less(np.abs(counts - shares), 4 * np.sqrt(shares * (1 - shares) / 200))


SETTINGS = {"units": 6, "activation": "gelu_erf", "layer_norm_epsilon": 0.01, "initializer_range": 0.2}
STATES = np.random.default_rng(0).normal(size=(2, 9, 8)).astype("float32")
CHOSEN = np.array([[1, 3, 4, 5], [6, 7, 0, 0]], "int32")


def boundaries_of(positions):
    """One hidden token after the other, walking to both sides."""
    hidden, boundaries = set(positions) - {0}, []
    for position in positions:
        left = right = position
        while left in hidden:
            left -= 1
        while right in hidden:
            right += 1
        boundaries.append((left, right, position - left - 1))
    return np.array(boundaries).T


@pytest.mark.parametrize("positions", [[1, 3, 4, 5], [1, 2, 3, 4], [2, 4, 6, 8], [5, 6, 8, 0], [7, 0, 0, 0]])
def test_boundaries(positions):
    boundaries = np.concatenate(find_boundaries(np.array([positions], "int32")))
    real = np.array(positions) > 0
    np.testing.assert_array_equal(boundaries[:, real], boundaries_of(positions)[:, real])
    assert boundaries[:2].min() >= 0


def test_conformance():
    check_config(SpanBoundaryTransform, SETTINGS)
    check_precision(SpanBoundaryTransform, SETTINGS, [STATES, CHOSEN])
    check_gradients(make_model(SpanBoundaryTransform, SETTINGS, [STATES, CHOSEN]), [STATES, CHOSEN])


def test_against_numpy():
    keras.utils.set_random_seed(0)
    layer = SpanBoundaryTransform(**SETTINGS, name="head")
    outputs = np.asarray(layer(STATES, CHOSEN))
    weights = {weight.path.removeprefix("head/"): weight.numpy() for weight in layer.weights}
    assert weights["span_positions"].shape == (SPAN_POSITIONS, 200)
    for row, positions in enumerate(CHOSEN.tolist()):
        for number, (left, right, place) in enumerate(boundaries_of(positions).T):
            if positions[number]:
                x = np.concatenate([STATES[row, left], STATES[row, right], weights["span_positions"][place]])
                for step in range(2):
                    x = ACTIVATIONS["gelu_erf"](dense(x, weights, f"dense_{step}"))
                    x = layer_norm(x, weights, f"norm_{step}", 0.01)
                np.testing.assert_allclose(outputs[row, number], x, atol=2e-5)


def test_the_hidden_token_itself_is_not_looked_at():
    layer, other = SpanBoundaryTransform(**SETTINGS), STATES.copy()
    other[0, 4] += 1.0
    before, after = (np.asarray(layer(states, CHOSEN)) for states in (STATES, other))
    np.testing.assert_array_equal(after, before)
    other[0, 6] += 1.0
    assert not np.array_equal(np.asarray(layer(other, CHOSEN))[0, 1:], before[0, 1:])


def test_a_low_rank_change_by_its_formula():
    rng = np.random.default_rng(0)
    layer = LowRankAdapter(rank=2, alpha=6.0)
    layer.build((None, 5), (None, 4))
    down, up = rng.normal(size=(5, 2)).astype("float32"), rng.normal(size=(2, 4)).astype("float32")
    x, y = rng.normal(size=(3, 5)).astype("float32"), rng.normal(size=(3, 4)).astype("float32")
    np.testing.assert_array_equal(layer(x, y), y)
    layer.down.assign(down)
    layer.up.assign(up)
    np.testing.assert_allclose(layer(x, y), y + 3 * x @ down @ up, rtol=1e-5)
    np.testing.assert_allclose(layer.kernel_update(), 3 * down @ up, rtol=1e-5)


def test_a_bottleneck_by_its_formula():
    rng = np.random.default_rng(0)
    layer = BottleneckAdapter(size=3)
    layer.build((None, 9), (None, 4))
    y = rng.normal(size=(2, 4)).astype("float32")
    np.testing.assert_allclose(layer(None, y), y, atol=1e-4)
    first, bias, second, last = (rng.normal(size=weight.shape).astype("float32") for weight in layer.weights)
    layer.set_weights([first, bias, second, last])
    hidden = y @ first + bias
    hidden = 0.5 * hidden * (1 + np.vectorize(math.erf)(hidden / np.sqrt(2)))
    np.testing.assert_allclose(layer(None, y), y + hidden @ second + last, rtol=1e-4)


def test_a_prompt_takes_the_first_places():
    ids, vectors = np.array([[0, 0, 3], [0, 0, 4]], "int32"), np.arange(24, dtype="float32").reshape(2, 3, 4)
    layer = SoftPrompt(2)
    layer.build(ids.shape, vectors.shape)
    layer.vectors.assign([[-1.0] * 4, [-2.0] * 4])
    outputs = np.asarray(layer(ids, vectors))
    assert outputs[:, :2, 0].tolist() == [[-1.0, -2.0]] * 2
    np.testing.assert_array_equal(outputs[:, 2], vectors[:, 2])


def test_places_for_a_prompt():
    inputs = {"token_ids": np.array([[5, 6]], "int32"), "padding_mask": np.array([[1, 0]], "int32")}
    states = np.arange(8, dtype="float32").reshape(1, 4, 2)
    places, tokens = PromptPlaces(), TokenStates()
    same = {name: np.asarray(value).tolist() for name, value in places(inputs).items()}
    assert same == {"token_ids": [[5, 6]], "padding_mask": [[1, 0]]}
    assert tokens(states).shape == (1, 4, 2)
    places.tokens = tokens.tokens = 2
    outputs = {name: np.asarray(value).tolist() for name, value in places(inputs).items()}
    assert outputs == {"token_ids": [[0, 0, 5, 6]], "padding_mask": [[1, 1, 1, 0]]}
    np.testing.assert_array_equal(tokens(states), states[:, 2:])


@pytest.mark.parametrize("length", [3, None])
def test_places_in_a_graph(length):
    inputs = {"token_ids": keras.Input((length,), dtype="int32")}
    assert PromptPlaces()(inputs)["token_ids"].shape == (None, length)
