import numpy as np
import pytest
import tensorflow as tf

from keras_bert.fused.block import fused_blocks
from keras_bert.fused.pretraining import FusedReplacedTokensObjective
from keras_bert.models.encoder import blocks_of
from keras_bert.objectives.pretraining import ReplacedTokensObjective
from tests.keras_bert.models.test_replaced_tokens import PARTS, make_joint
from tests.keras_bert.objectives.test_replaced_tokens import BATCH, GENERATOR
from tests.samples import long_but


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
def plain():
    return {sharing: differentiate(make_joint(sharing), ReplacedTokensObjective(GENERATOR)) for sharing in SHARINGS}


SHARINGS = ("embeddings", "gradient_disentangled")


@pytest.mark.parametrize("sharing", long_but(SHARINGS[1:], SHARINGS))
def test_sums_and_gradients_are_those_of_the_plain_objective(plain, sharing):
    joint, (expected, gradients) = make_joint(sharing), plain[sharing]
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
def test_the_discriminator_moves_of_the_generator_what_both_share_alone(plain, sharing):
    joint, (_, (_, by_discriminator)) = make_joint(sharing), plain[sharing]
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
