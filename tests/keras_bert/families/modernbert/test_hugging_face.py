"""Configurations of ModernBERT, as several versions of transformers write them."""

import dataclasses
import json

import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.registry import FAMILIES
from keras_bert.interop import hugging_face_config
from keras_bert.interop.configs import Head
from keras_bert.interop.hugging_face import read_model, to_hugging_face
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import Classification
from tests.keras_bert.interop.checkpoints import check_equal_weights, make_tokenizer, run

# What a released file says: transformers 4.47, but for the sizes.
OLD = {
    "architectures": ["ModernBertForMaskedLM"],
    "attention_bias": False,
    "attention_dropout": 0.1,
    "bos_token_id": 7,
    "classifier_activation": "gelu",
    "classifier_bias": False,
    "classifier_dropout": 0.0,
    "classifier_pooling": "mean",
    "cls_token_id": 7,
    "decoder_bias": True,
    "deterministic_flash_attn": False,
    "embedding_dropout": 0.2,
    "eos_token_id": 8,
    "global_attn_every_n_layers": 2,
    "global_rope_theta": 80000,
    "gradient_checkpointing": False,
    "hidden_activation": "gelu",
    "hidden_size": 8,
    "initializer_cutoff_factor": 2.0,
    "initializer_range": 0.02,
    "intermediate_size": 12,
    "layer_norm_eps": 1e-05,
    "local_attention": 6,
    "local_rope_theta": 100.0,
    "max_position_embeddings": 8192,
    "mlp_bias": False,
    "mlp_dropout": 0.3,
    "model_type": "modernbert",
    "norm_bias": False,
    "norm_eps": 1e-06,
    "num_attention_heads": 2,
    "num_hidden_layers": 3,
    "pad_token_id": 9,
    "position_embedding_type": "absolute",
    "sep_token_id": 8,
    "tie_word_embeddings": True,
    "vocab_size": 30,
}
THETAS = {"full_attention": {"rope_type": "default", "rope_theta": 80000}, "sliding_attention": {"rope_theta": 100.0}}
LAYERS = ["full_attention", "sliding_attention", "full_attention"]
SIZES = {"num_layers": 3, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "vocabulary_size": 30}
CONFIG = EncoderConfig(
    **SIZES,
    max_length=8192,
    num_segments=0,
    activation="gelu_erf",
    dropout=0.3,
    attention_dropout=0.1,
    layer_norm_epsilon=1e-6,
    variant=ModernBERT(global_every=2, window=6, global_theta=80000, local_theta=100.0, embedding_dropout=0.2),
)
MODERN = FAMILIES["modernbert"]


def read(folder, content):
    (folder / "config.json").write_text(json.dumps(content))
    return hugging_face_config.read_encoder(folder, *hugging_face_config.read_config(folder))


def without(*keys, **changes):
    return {**{key: value for key, value in OLD.items() if key not in keys}, **changes}


def test_both_forms_say_the_same(tmp_path):
    assert read(tmp_path, OLD) == CONFIG
    old = ("global_attn_every_n_layers", "global_rope_theta", "local_rope_theta")
    new = read(tmp_path, without(*old, layer_types=LAYERS, rope_parameters=THETAS))
    explicit = ModernBERT(window=6, global_theta=80000, local_theta=100.0, embedding_dropout=0.2, global_layers=(0, 2))
    assert new == dataclasses.replace(CONFIG, variant=explicit)
    # The new form counts where both are there.
    both = without(layer_types=[LAYERS[1], *LAYERS[::2]], rope_parameters={"sliding_attention": {"rope_theta": 5.0}})
    assert read(tmp_path, both).variant == ModernBERT(
        global_every=2, window=6, global_theta=80000, local_theta=5.0, embedding_dropout=0.2, global_layers=(1, 2)
    )


def test_missing_keys_have_the_defaults_of_transformers(tmp_path):
    sizes = ("architectures", "hidden_size", "intermediate_size", "model_type", "num_attention_heads", "vocab_size")
    config = read(tmp_path, {key: OLD[key] for key in (*sizes, "num_hidden_layers")})
    nothing = {"dropout": 0.0, "attention_dropout": 0.0, "layer_norm_epsilon": 1e-5}
    assert config == dataclasses.replace(CONFIG, **nothing, variant=ModernBERT())


@pytest.mark.parametrize("layers", [None, (), (1,), (0, 2)])
def test_written_and_read(layers, tmp_path):
    config = dataclasses.replace(CONFIG, variant=ModernBERT(global_every=3, global_layers=layers, window=4))
    content = hugging_face_config.write_config(config, Head(task="pretraining"), MODERN, 0)
    assert [kind == "full_attention" for kind in content["layer_types"]] == [
        config.variant.is_global(layer) for layer in range(3)
    ]
    assert read(tmp_path, content) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_bias": True}, "norm_bias must be False, got True, which is not supported"),
        ({"attention_bias": True}, "attention_bias must be False, got True"),
        ({"mlp_bias": True}, "mlp_bias must be False, got True"),
        ({"classifier_bias": True}, "classifier_bias must be False, got True"),
        ({"decoder_bias": False}, "decoder_bias must be True, got False"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling must be absent, got"),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_parameters.full_attention must"),
        ({"rope_parameters": {"rope_theta": 5.0}}, "rope_parameters.rope_theta must be of the rope_type 'default'"),
        ({"layer_types": LAYERS[:2]}, "layer_types must list .* for 3 layers, got"),
        ({"layer_types": ["chunked_attention"] * 3}, "layer_types must list 'full_attention' or 'sliding_attention'"),
        ({"local_rope_theta": None}, "rope_theta of sliding_attention must be a number, got None"),
        ({"local_attention": 0}, "ModernBERT.window must be positive, got 0"),
        ({"hidden_activation": "mish", "classifier_activation": "mish"}, "hidden_activation must be one of"),
        ({"classifier_activation": "silu"}, "classifier_activation must be hidden_activation, 'gelu', got 'silu'"),
    ],
)
def test_refuses_unsupported_configuration(changes, message, tmp_path):
    with pytest.raises(ValueError, match=f"config.json: {message}"):
        read(tmp_path, without(**changes))


def test_without_a_head_its_activation_says_nothing(tmp_path):
    changes = {"architectures": ["ModernBertModel"], "classifier_activation": "silu"}
    assert read(tmp_path, without(**changes)) == CONFIG


@pytest.mark.parametrize("said", ["cls", "mean"])
def test_the_pooling_of_a_classifier(said, tmp_path):
    content = without(architectures=["ModernBertForSequenceClassification"], classifier_pooling=said)
    content["sentence_transformers"] = {"activation_fn": None, "prompt": None}
    head = hugging_face_config.read_head(tmp_path, MODERN, content)
    assert (head.pooling, head.reads_pooler) == (said, said == "cls")
    with pytest.raises(ValueError, match=r"classifier_pooling must be one of \('cls', 'mean'\), got 'max'"):
        hugging_face_config.read_head(tmp_path, MODERN, {**content, "classifier_pooling": "max"})


def test_a_classifier_of_ones_own_is_written(tmp_path):
    config = dataclasses.replace(CONFIG, max_length=12)
    tokenizer = make_tokenizer([str(number) for number in range(30)])
    task = Classification.build(
        build_encoder(config, pooler=False), tokenizer, labels=["a", "b"], max_length=12, pooling="mean", dropout=0.4
    )
    to_hugging_face(task, tmp_path / "theirs")
    loaded = read_model(tmp_path / "theirs")
    check_equal_weights(loaded, task.model)
    assert loaded.get_layer("classifier_dropout").rate == 0.4
    inputs = {name: np.ones((2, 5), "int32") for name in ("token_ids", "padding_mask")}
    np.testing.assert_array_equal(run(loaded, inputs), run(task.model, inputs))
