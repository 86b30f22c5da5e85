import numpy as np
import pytest
import tensorflow as tf

from keras_bert.core.losses import correct, cross_entropy
from keras_bert.fused.block import compiled, seeded_dropout
from keras_bert.fused.layers import fused_blocks
from keras_bert.fused.masked_tokens import draw_tokens, masked_token_loss
from keras_bert.fused.pretraining import FusedReplacedTokensObjective
from keras_bert.layers.noise import gumbel_noise
from keras_bert.models.encoder import blocks_of
from keras_bert.objectives.pretraining import ReplacedTokensObjective
from tests.keras_bert.models.test_replaced_tokens import PARTS, make_joint
from tests.keras_bert.objectives.test_pretraining import GENERATOR
from tests.keras_bert.objectives.test_pretraining import JOINT_BATCH as BATCH
from tests.samples import long_but

RANDOM = np.random.default_rng(0)
STATES = tf.constant(RANDOM.normal(size=(6, 8)), tf.float32)
TABLE = tf.constant(RANDOM.normal(size=(19, 8)), tf.float32)
BIAS = tf.constant(RANDOM.normal(size=19), tf.float32)
LABELS = tf.constant([0, 4, 5, 18, 7, 7])
UPSTREAM = tf.constant(RANDOM.normal(size=6), tf.float32)


def plain(states, table, bias):
    return tf.matmul(states, table, transpose_b=True) + bias


@pytest.mark.parametrize("chunk", [5, 19, 100])
def test_loss_and_gradient(chunk):
    inputs = [STATES, TABLE, BIAS]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        actual_loss = masked_token_loss(*inputs, LABELS, chunk)[0]
        expected = cross_entropy(plain(*inputs), LABELS)
    np.testing.assert_allclose(actual_loss, expected, rtol=1e-6, atol=1e-6)
    for one, other in zip(*(tape.gradient(loss, inputs, UPSTREAM) for loss in (actual_loss, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chunk", [5, 100])
def test_hits_count_the_first_of_equals(chunk):
    best = tf.argmax(plain(STATES, TABLE, BIAS), axis=1, output_type=tf.int32)
    np.testing.assert_array_equal(masked_token_loss(STATES, TABLE, BIAS, best, chunk)[1], np.ones(6))
    np.testing.assert_array_equal(masked_token_loss(STATES, TABLE, BIAS, (best + 1) % 19, chunk)[1], np.zeros(6))
    level = tf.zeros_like(TABLE), tf.zeros(19)
    expected = correct(plain(STATES, *level), LABELS)
    np.testing.assert_array_equal(masked_token_loss(STATES, *level, LABELS, chunk)[1], expected)
    assert sum(expected) == 1


def test_scores_far_apart():
    loss, _ = masked_token_loss(STATES * 1000, TABLE, BIAS, LABELS, 5)
    np.testing.assert_allclose(loss, cross_entropy(plain(STATES * 1000, TABLE, BIAS), LABELS), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("chunk", [5, 19])
def test_tokens_are_drawn_as_from_the_scores_in_one_piece(chunk):
    seeds = [tf.constant(RANDOM.integers(0, 2**32, 6), tf.uint32) for _ in range(2)]
    noise = gumbel_noise(tf.cast(tf.range(19), tf.uint32), *(seed[:, None] for seed in seeds))
    expected = tf.argmax(plain(STATES, TABLE, BIAS) + noise, axis=1)
    assert len(set(expected.numpy().tolist())) > 1
    np.testing.assert_array_equal(draw_tokens(STATES, TABLE, BIAS, *seeds, chunk), expected)


def differentiate(model, objective):
    """Sums, and the gradients of both losses one by one, from a traced step."""
    weights = [weight.value for weight in model.trainable_variables]

    @tf.function
    def step(batch):
        with tf.GradientTape(persistent=True) as tape:
            sums = objective(model, batch, True)
        losses = [sums[name][0] for name in ("masked_loss", "replaced_loss")]
        zero = tf.UnconnectedGradients.ZERO
        return sums, [
            [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights, unconnected_gradients=zero)]
            for loss in losses
        ]

    return step({name: tf.constant(array) for name, array in BATCH.items()})


@pytest.fixture(scope="module")
def plain_sums():
    return {sharing: differentiate(make_joint(sharing), ReplacedTokensObjective(GENERATOR)) for sharing in SHARINGS}


SHARINGS = ("embeddings", "gradient_disentangled")


@pytest.mark.parametrize("sharing", long_but(SHARINGS[1:], SHARINGS))
def test_sums_and_gradients_are_those_of_the_plain_objective(plain_sums, sharing):
    joint, (expected, gradients) = make_joint(sharing), plain_sums[sharing]
    with fused_blocks(joint):
        assert all(blocks_of(joint.get_layer(part))[0].training_call for part in PARTS)
        results, others = differentiate(joint, FusedReplacedTokensObjective(joint, GENERATOR))
    assert results.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-5, err_msg=name)
    for ours, theirs in zip(others, gradients, strict=True):
        largest = max(np.abs(gradient).max() for gradient in theirs)
        for weight, one, other in zip(joint.trainable_variables, ours, theirs, strict=True):
            np.testing.assert_allclose(one / largest, other / largest, atol=5e-6, err_msg=weight.path)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_the_discriminator_moves_of_the_generator_what_both_share_alone(plain_sums, sharing):
    joint, (_, (_, by_discriminator)) = make_joint(sharing), plain_sums[sharing]
    generator, discriminator = ({id(weight) for weight in joint.get_layer(part).weights} for part in PARTS)
    reached = {id(w): bool(np.any(g)) for w, g in zip(joint.trainable_variables, by_discriminator, strict=True)}
    moved = {key for key, is_moved in reached.items() if is_moved}
    assert moved & generator == (generator & discriminator)
    assert len(moved & generator) == (2 if sharing == "embeddings" else 0)
    # A key's bias alone has no gradient.
    assert len(reached.keys() & discriminator - moved) <= 1


def test_objective_belongs_to_a_model():
    objective = FusedReplacedTokensObjective(make_joint(), GENERATOR)
    assert objective.identity() == {"class": "FusedReplacedTokensObjective", "generator": vars(GENERATOR)}
    with pytest.raises(ValueError, match="model must be the one"):
        objective(make_joint(), BATCH, True)


SEED = tf.constant([3, 11], tf.uint32)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_keep_drops_its_share_and_scales_the_rest(rate):
    kept = seeded_dropout(tf.ones((1000, 300)), SEED, rate).numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / (1 - rate))}
    # The standard deviation of a share of 300,000 is below 0.001, of the sum of a row or column below 0.029.
    assert np.mean(kept == 0) == pytest.approx(rate, abs=0.004)
    for axis in (0, 1):
        assert np.abs(np.mean(kept == 0, axis) - rate).max() < 0.16


def test_keep_draws_by_seed_and_place_alone():
    first = seeded_dropout(tf.ones((50, 40)), SEED, 0.5).numpy()
    np.testing.assert_array_equal(first.ravel(), seeded_dropout(tf.ones(2000), SEED, 0.5).numpy())
    signs = [
        np.sign(seeded_dropout(tf.ones(40000), tf.constant(seed, tf.uint32), 0.5).numpy() - 1)
        for seed in np.ndindex(4, 4)
    ]
    correlations = np.corrcoef([*signs, np.roll(signs[0], 1)])
    assert np.abs(correlations - np.eye(len(signs) + 1)).max() < 0.03
    x = tf.random.normal((3, 4))
    assert seeded_dropout(x, SEED, 0.0) is x


def test_the_gradient_draws_the_same_numbers_in_any_shape():
    dropped = compiled(lambda x, seed: seeded_dropout(x, seed, 0.3))
    x = tf.random.normal((20, 30))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = dropped(x, SEED)
    np.testing.assert_allclose(tape.gradient(y, x), y / x, rtol=1e-6)
    doubled = compiled(lambda x, seed: 2.0 * x)
    traced = tf.function(lambda x: doubled(x, SEED), input_signature=[tf.TensorSpec((None, 3))])
    for rows in (2, 5):
        np.testing.assert_array_equal(traced(tf.ones((rows, 3))), np.full((rows, 3), 2.0))


def test_a_gradient_in_a_branch():
    # The attention of a BigBird chooses by a length that is known only when it runs.
    squared = compiled(lambda x, seed: x * x)

    @tf.function
    def differentiate(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x[0] > 0, lambda: squared(x + 1.0, SEED), lambda: squared(x, SEED))
        return tape.gradient(y, x)

    np.testing.assert_array_equal(differentiate(tf.constant([1.0, 2.0])), [4.0, 6.0])
    np.testing.assert_array_equal(differentiate(tf.constant([-1.0, 2.0])), [-2.0, 4.0])
