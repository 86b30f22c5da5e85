import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder, config_of, encoder_of
from keras_bert.models.replaced_tokens import build_joint, build_replaced_tokens, separate_discriminator
from keras_bert.models.saving import load_model, save_model
from keras_bert.options.pretraining import Generator
from tests.keras_bert.models.test_encoder import ACTIVATIONS, dense, make_inputs, randomize, weights_of
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(num_layers=1, layer_norm_epsilon=0.01, dropout=0.0, attention_dropout=0.0)
TEXT = make_inputs()
HIDDEN = {
    "mask_positions": np.array([[1, 3], [1, 0], [2, 5]], "int32"),
    "mask_ids": np.array([[7, 19], [4, 0], [4, 11]], "int32"),
    "mask_weights": np.array([[1, 1], [1, 0], [1, 1]], "float32"),
}
SHARINGS = ("embeddings", "none", "gradient_disentangled")
PARTS = ("generator", "discriminator")
TABLES = ("token_embedding", "position_embedding")


def make_joint(sharing="embeddings", config=CONFIG, **settings):
    keras.utils.set_random_seed(0)
    discriminator = build_replaced_tokens(build_encoder(config, pooler=False))
    randomize(discriminator)
    return build_joint(discriminator, Generator(size=0.5, sharing=sharing, **settings))


def tables_of(joint, part):
    return [joint.get_layer(part).get_layer(name).embeddings for name in TABLES]


def test_head_equals_numpy():
    model = build_replaced_tokens(build_encoder(CONFIG, pooler=False))
    randomize(model)
    weights, states = weights_of(model), np.asarray(encoder_of(model)(TEXT)["sequence_output"])
    inner = ACTIVATIONS["gelu_tanh"](dense(states, weights, "replaced_token_transform/dense"))
    np.testing.assert_allclose(model(TEXT), dense(inner, weights, "replaced_token_classifier")[:, :, 0], atol=2e-5)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_joint_model_equals_its_parts(sharing):
    joint = make_joint(sharing)
    generator, discriminator = (joint.get_layer(name) for name in PARTS)
    config = config_of(generator)
    assert (config.hidden_size, config.num_heads, config.intermediate_size) == (4, 1, 8)
    assert config.embedding_size == (None if sharing == "none" else 8)
    outputs = joint({**TEXT, **HIDDEN})
    # The joint model equals its two models run one after the other.
    scores = generator({**TEXT, "mask_positions": HIDDEN["mask_positions"]})["masked_tokens"]
    np.testing.assert_allclose(outputs["masked_tokens"], scores, atol=1e-6)
    names = ("mask_positions", "mask_ids", "mask_weights")
    replace = joint.get_layer("token_replacement")
    token_ids, is_replaced = replace(scores, TEXT["token_ids"], *(HIDDEN[name] for name in names))
    np.testing.assert_array_equal(outputs["is_replaced"], is_replaced)
    expected = discriminator({**TEXT, "token_ids": np.asarray(token_ids)})
    np.testing.assert_allclose(outputs["replaced_tokens"], expected, atol=1e-6)
    shared = {id(weight) for weight in generator.weights} & {id(weight) for weight in discriminator.weights}
    assert shared == ({id(table) for table in tables_of(joint, "generator")} if sharing == "embeddings" else set())
    # A checkpoint holds the state of the sampling of tokens.
    assert any(variable is replace.seed_generator.state for variable in joint.variables)


def test_disentangled_embeddings_begin_as_the_discriminators_and_end_as_their_sum(tmp_path):
    plain, joint = make_joint("none"), make_joint("gradient_disentangled")
    tables = [table.numpy() for table in tables_of(plain, "discriminator")]
    for table, difference, before in zip(
        tables_of(joint, "generator"), tables_of(joint, "discriminator"), tables, strict=True
    ):
        np.testing.assert_array_equal(table, before)
        assert not np.any(difference)
    discriminator = joint.get_layer("discriminator")
    expected = plain.get_layer("discriminator")(TEXT)
    np.testing.assert_allclose(discriminator(TEXT), expected, atol=1e-6)

    rng = np.random.default_rng(1)
    for part in PARTS:
        for table in tables_of(joint, part):
            table.assign(rng.normal(size=table.shape))
    sums = [one.numpy() + other.numpy() for one, other in zip(*(tables_of(joint, part) for part in PARTS), strict=True)]
    before = np.asarray(discriminator(TEXT))
    separate_discriminator(joint)
    for table, both in zip(tables_of(joint, "discriminator"), sums, strict=True):
        np.testing.assert_array_equal(table, both)
    np.testing.assert_allclose(discriminator(TEXT), before, atol=1e-5)
    save_model(discriminator, tmp_path / "model.keras")
    np.testing.assert_allclose(load_model(tmp_path / "model.keras")(TEXT), before, atol=1e-5)


@pytest.mark.parametrize("sharing", ["embeddings", "none"])
def test_other_sharing_needs_no_merge_after_training(sharing, tmp_path):
    joint = make_joint(sharing)
    discriminator = joint.get_layer("discriminator")
    before = discriminator.get_weights()
    separate_discriminator(joint)
    save_model(discriminator, tmp_path / "model.keras")
    for weight, expected in zip(load_model(tmp_path / "model.keras").get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_segments": 0},
        {"num_segments": 1, "position_offset": 2},
        {"embedding_size": 4, "num_layers": 2, "shared_layers": True},
    ],
    ids=["DistilBERT", "RoBERTa", "ALBERT"],
)
def test_any_family(changes):
    config = EncoderConfig(**{**vars(CONFIG), **changes})
    joint = make_joint("embeddings", config)
    inputs = {spec.name: ({**TEXT, **HIDDEN})[spec.name] for spec in joint.inputs}
    assert joint(inputs)["replaced_tokens"].shape == (3, 7)
    assert ("segment_ids" in inputs) == (config.num_segments > 1)


def test_a_generator_that_is_too_large():
    with pytest.raises(ValueError, match=r"Generator\.num_layers must be at most 1, the discriminator's, got 2"):
        make_joint(num_layers=2)
