"""MobileBERT's encoder against a second one, written in NumPy from the paper."""

import dataclasses

import numpy as np
import pytest

from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.presets import preset
from keras_bert.families.registry import family_of
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model
from keras_bert.models.encoder import build_encoder, config_of, encoder_of
from keras_bert.models.pretraining import build_pretraining
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, change_tensors, run
from tests.keras_bert.interop.test_families import unpack
from tests.keras_bert.models.test_encoder import attention, dense, layer_norm, make_inputs, randomize, weights_of
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(
    num_layers=1,
    intermediate_size=6,
    embedding_size=3,
    activation="relu",
    layer_norm_epsilon=0.5,
    variant=MobileBERT(bottleneck_size=4, feed_forwards=3),
)
VARIANTS = {
    "mobilebert": CONFIG.variant,
    "tiny": MobileBERT(bottleneck_size=4, feed_forwards=2, bottleneck_attention=True),
    "teacher": MobileBERT(bottleneck_size=12, feed_forwards=1, normalization="layer_norm"),
}
TEXT = make_inputs()
INPUTS = {**TEXT, "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}


def trigrams(vectors, mask):
    """One token at a time: the next one, itself and the one before, zeros where there is none."""
    result = np.zeros((*vectors.shape[:2], 3 * vectors.shape[2]))
    for row, length in enumerate(mask.sum(axis=1)):
        for place in range(length):
            for part, there in enumerate((place + 1, place, place - 1)):
                if 0 <= there < length:
                    width = vectors.shape[2]
                    result[row, place, part * width : (part + 1) * width] = vectors[row, there]
    return result


def reference(config, weights, inputs):
    mask, variant = inputs["padding_mask"], config.variant

    def norm(x, name, epsilon=config.layer_norm_epsilon):
        if variant.normalization == "layer_norm":
            return layer_norm(x, weights, name, epsilon)
        return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]

    x = trigrams(weights["token_embedding/embeddings"][inputs["token_ids"]], mask)
    x = dense(x, weights, "embedding_projection/dense")
    x = x + weights["segment_embedding/embeddings"][inputs["segment_ids"]]
    x = norm(x + weights["position_embedding/embeddings"][: mask.shape[1]], "embeddings_norm", 1e-5)
    narrow = norm(dense(x, weights, "block_0/input_bottleneck"), "block_0/input_bottleneck_norm")
    asking, read = narrow, narrow
    if not variant.bottleneck_attention:
        asking = norm(dense(x, weights, "block_0/attention_bottleneck"), "block_0/attention_bottleneck_norm")
        read = x
    attended = attention(asking, mask, weights, "block_0/attention", config.num_heads, values=read)
    inner = norm(narrow + attended, "block_0/attention_norm")
    for name in (
        *(f"block_0/feed_forward_{index}" for index in range(variant.feed_forwards - 1)),
        "block_0/feed_forward",
    ):
        hidden = np.maximum(dense(inner, weights, f"{name}/intermediate"), 0)
        epsilon = 1e-5 if name.endswith("feed_forward") else config.layer_norm_epsilon
        inner = norm(inner + dense(hidden, weights, f"{name}/output_projection"), f"{name}_norm", epsilon)
    return norm(x + dense(inner, weights, "block_0/output_bottleneck"), "block_0/output_bottleneck_norm")


@pytest.fixture(scope="module", params=VARIANTS)
def model(request):
    model = build_pretraining(build_encoder(dataclasses.replace(CONFIG, variant=VARIANTS[request.param])))
    randomize(model)
    return model


def test_states_and_heads_against_numpy(model):
    weights, real = weights_of(model), TEXT["padding_mask"] == 1
    outputs, encoded = model(INPUTS), encoder_of(model)(TEXT)
    states = reference(config_of(model), weights, TEXT)
    np.testing.assert_allclose(np.asarray(encoded["sequence_output"])[real], states[real], atol=2e-5)

    chosen = np.take_along_axis(np.asarray(encoded["sequence_output"]), INPUTS["mask_positions"][:, :, None], 1)
    activated = np.maximum(dense(chosen, weights, "masked_token_transform/dense"), 0)
    transformed = layer_norm(activated, weights, "masked_token_transform/norm", 0.5)
    table = [weights["token_embedding/embeddings"], weights["masked_token_columns/embeddings"]]
    scores = transformed @ np.concatenate(table, axis=1).T + weights["masked_token_bias/bias"]
    np.testing.assert_allclose(outputs["masked_tokens"], scores, atol=2e-5)


def test_of_a_block_dropout_hits_what_comes_out_of_it_alone():
    config = dataclasses.replace(CONFIG, dropout=0.5, attention_dropout=0.0, initializer_range=1.0)
    encoder = build_encoder(config)
    assert encoder(TEXT, training=True)["sequence_output"].shape == (3, 7, 8)
    states = np.random.default_rng(0).normal(size=(3, 7, 8)).astype("float32")
    inputs = states, np.zeros((3, 1, 1, 7), "float32")
    block = encoder.get_layer("block_0")
    change, dropped = (np.asarray(block(*inputs, training=training)) - states for training in (False, True))
    kept = np.isclose(dropped, 2 * change, atol=1e-5)
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(dropped[~kept], 0, atol=1e-5)


def test_the_first_token_is_the_pooled_output_where_the_pooler_has_no_weights():
    outputs = build_encoder(dataclasses.replace(CONFIG, pooler_activation="none"))(TEXT)
    np.testing.assert_array_equal(outputs["pooled_output"], outputs["sequence_output"][:, 0])


IDS = np.array([[3, 5, 4], [7, 9, 8]], "int32")


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "MobileBertModel.npz", tmp_path / "theirs")[0]


def test_a_file_that_says_little_is_read_as_transformers_reads_it(folder):
    keys = ("embedding_size", "intra_bottleneck_size", "num_feedforward_networks", "normalization_type")
    further = ("use_bottleneck", "use_bottleneck_attention", "key_query_shared_bottleneck", "trigram_input")
    sizes = {"hidden_size": 512, "num_attention_heads": 4}
    change_json(folder / "config.json", **dict.fromkeys((*keys, *further, "classifier_activation")), **sizes)
    family, content = hugging_face_config.read_config(folder)
    config = hugging_face_config.read_encoder(folder, family, content)
    assert (config.variant, config.embedding_size, config.pooler_activation) == (MobileBERT(), 128, "tanh")


def test_a_pooler_without_weights_is_there_all_the_same(folder):
    change_json(folder / "config.json", classifier_activation=False)
    change_tensors(folder, lambda held: {name: array for name, array in held.items() if "pooler" not in name})
    inputs = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": IDS * 0 + 1}
    outputs = run(read_model(folder), inputs)
    np.testing.assert_array_equal(outputs["pooled_output"], outputs["sequence_output"][:, 0])


def test_the_family_of_an_encoder_with_bottlenecks():
    assert family_of(preset("mobilebert-uncased"), None, pooler=True).name == "mobilebert"
