"""DeBERTa's folders beyond those that transformers itself writes today."""

import json

import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.hugging_face import FAMILIES
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.presets import preset
from keras_bert.families.registry import family_of, find_family
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import from_hugging_face, read_model
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, change_tensors, check_equal_weights
from tests.keras_bert.interop.test_families import unpack

SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "vocabulary_size": 30}
# What stands in the released `config.json` files, which leave out all else.
SIZES = {
    "hidden_act": "gelu",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "relative_attention": True,
    "position_biased_input": False,
}
VERSION_3 = {
    **SIZES,
    "vocab_size": 128100,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": "p2c|c2p",
}
LARGEST = {"num_hidden_layers": 24, "hidden_size": 1536, "num_attention_heads": 24, "intermediate_size": 6144}


def unpacked(name, folder):
    return unpack(GOLDEN / "families" / f"{name}.npz", folder / "theirs")[0]


@pytest.mark.parametrize(
    ("family", "content", "name"),
    [
        ("deberta-v2", VERSION_3, "deberta-v3-base"),
        ("deberta-v2", {**VERSION_3, **LARGEST, "conv_kernel_size": 3, "conv_act": "gelu"}, "deberta-v2-xlarge"),
        ("deberta", {**SIZES, "vocab_size": 50265, "pos_att_type": "c2p|p2c"}, "deberta-base"),
    ],
)
def test_released_configurations(tmp_path, family, content, name):
    names = find_family(family, "here")
    assert hugging_face_config.read_encoder(tmp_path, names, {**names.defaults, **content}) == preset(name)


def test_the_head_of_the_released_files(tmp_path):
    folder = unpacked("DebertaV2ForMaskedLM", tmp_path)
    expected = read_model(folder)
    change_json(folder / "config.json", legacy=False)

    def rename(held):
        names = {
            "cls.predictions.transform.": "lm_predictions.lm_head.",
            "cls.predictions.bias": "lm_predictions.lm_head.bias",
        }
        for old, new in names.items():
            held = {name.replace(old, new): array for name, array in held.items()}
        further = ("mask_predictions.dense.weight", "deberta.embeddings.position_embeddings.weight")
        return held | {name: np.ones((2, 3), "float32") for name in further}

    change_tensors(folder, rename)
    check_equal_weights(read_model(folder), expected)
    change_json(folder / "config.json", architectures=["DebertaV2Model"])
    assert "masked_token_bias" not in {layer.name for layer in read_model(folder).layers}
    change_tensors(folder, lambda held: held | {"deberta.encoder.odd": np.ones(2, "float32")})
    with pytest.raises(ValueError, match=r"holds 'deberta\.encoder\.odd', which the model does not have"):
        read_model(folder)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "deberta-v2"),
        ({"position_buckets": 0, "shared_projections": False}, "deberta-v2"),
        (
            {"position_buckets": 0, "shared_projections": False, "normalized_positions": False, "key_bias": False},
            "deberta",
        ),
    ],
)
def test_the_family_of_an_encoder(settings, expected):
    config = EncoderConfig(**SHAPE, num_segments=0, variant=DeBERTa(**settings))
    assert family_of(config, None, pooler=False).name == expected
    other = next(family.name for family in FAMILIES if family.name != expected)
    with pytest.raises(ValueError, match=rf"family '{other}' does not fit: variant.\w+ must be"):
        family_of(config, other, pooler=False)
    with pytest.raises(ValueError, match="family 'bert' does not fit: variant must be None, got DeBERTa"):
        family_of(config, "bert", pooler=False)


def test_rows_that_are_no_pieces(tmp_path):
    pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
    from tests.keras_bert.interop.family_checkpoints import make_checkpoint

    expected = make_checkpoint(tmp_path, "deberta-v2", []).tokenizer.vocabulary
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    pieces = content["model"]["vocab"]
    change_json(tmp_path / "tokenizer.json", model={**content["model"], "vocab": pieces[:-2]})
    tokenizer = from_hugging_face(tmp_path).tokenizer
    assert tokenizer.vocabulary == (*expected[:-2], "[unused0]", "[unused1]")
    text = ["the oldest [unused1] bridge"]
    assert max(tokenizer.tokenize(text).to_list()[0]) < len(pieces) - 2
    change_json(tmp_path / "tokenizer.json", model={**content["model"], "vocab": [*pieces, ["odd", -9.0]]})
    with pytest.raises(
        ValueError, match=rf"must hold at most vocab_size={len(pieces)} tokens, .* got {len(pieces) + 1}"
    ):
        from_hugging_face(tmp_path)
