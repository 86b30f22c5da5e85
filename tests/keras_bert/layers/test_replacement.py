import numpy as np
import pytest

from keras_bert.layers.replacement import TokenReplacement

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


def test_only_hidden_places_change_and_what_is_guessed_right_is_not_replaced():
    drawn = np.array([[10, 7], [6, 9]], "int32")
    token_ids, is_replaced = TokenReplacement.replace(drawn, TOKEN_IDS, *HIDDEN.values())
    # 10 was the text's own; the filling of the second row changes nothing.
    np.testing.assert_array_equal(token_ids, [[2, 10, 11, 7, 3, 0], [2, 10, 6, 12, 13, 3]])
    np.testing.assert_array_equal(is_replaced, [[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]])


def test_a_sure_generator_gives_the_text_back():
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
    drawn = [call(layer, [0], training=True)[0][0, 1] for _ in range(600)]
    counts = np.bincount(drawn, minlength=15) / 600
    np.testing.assert_array_less(np.abs(counts - shares), 4 * np.sqrt(shares * (1 - shares) / 600))
