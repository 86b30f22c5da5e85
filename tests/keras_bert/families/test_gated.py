"""Files that were written for code of their own, and the parts of the graph that references do not show."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_bert.families.gated.layers import LinearBias, find_slopes
from keras_bert.families.gated.settings import Gated
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model
from tests.keras_bert.interop.checkpoints import GOLDEN, run
from tests.keras_bert.interop.test_families import unpack
from tests.keras_bert.tiny import tiny_config

CODE = {"AutoModel": "OWNER/NAME--modeling_of_its_own.TheModel"}
# What a released file says, but for the sizes.
NOMIC = {
    "activation_function": "swiglu",
    "architectures": ["NomicBertModel"],
    "attn_pdrop": 0.0,
    "auto_map": CODE,
    "causal": False,
    "embd_pdrop": 0.0,
    "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 16,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "model_type": "nomic_bert",
    "n_embd": 16,
    "n_head": 2,
    "n_inner": 24,
    "n_layer": 2,
    "n_positions": 64,
    "prenorm": False,
    "qkv_proj_bias": False,
    "resid_pdrop": 0.0,
    "rotary_emb_base": 50.0,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": 2,
    "type_vocab_size": 2,
    "use_rms_norm": False,
    "vocab_size": 40,
}
GTE = {
    "architectures": ["NewModel", "NewForTokenClassification"],
    "auto_map": CODE,
    "layer_norm_type": "layer_norm",
    "logn_attention_scale": False,
    "model_type": "new",
    "position_embedding_type": "rope",
    "rope_scaling": {"factor": 8.0, "type": "ntk"},
    "rope_theta": 20000,
}


def make_folder(name, folder, **changes):
    """The folder of a reference with another `config.json`, and what else its file holds."""
    folder, content = unpack(GOLDEN / "families" / f"{name}.npz", folder)
    present = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**present, **changes}))
    return folder, content


def read_config(folder):
    return hugging_face_config.read_encoder(folder, *hugging_face_config.read_config(folder))


def test_nomic_berts_first_keys(tmp_path):
    folder, _ = make_folder("NomicBertModel", tmp_path / "theirs")
    present = read_config(folder)
    (folder / "config.json").write_text(json.dumps(NOMIC))
    # The scaling acts behind the positions of the training, where these inputs end.
    expected = dataclasses.replace(present, max_length=16, variant=Gated(theta=50.0))
    assert read_config(folder) == expected
    for key, value in (("num_experts", 8), ("rotary_emb_fraction", 0.5), ("prenorm", True)):
        (folder / "config.json").write_text(json.dumps({**NOMIC, key: value}))
        with pytest.raises(ValueError, match=f"config.json: {key} must be .*, got {value}, which is not supported"):
            read_config(folder)


def test_gtes_first_files(tmp_path):
    folder, content = make_folder("GteModel", tmp_path / "theirs")
    expected = run(read_model(folder), content)["sequence_output"]
    tensors = load_file(folder / "model.safetensors")
    further = {"classifier.weight": np.ones((1, 16), "float32"), "classifier.bias": np.ones(1, "float32")}
    save_file({**{f"new.{name}": array for name, array in tensors.items()}, **further}, folder / "model.safetensors")
    changes = json.loads((folder / "config.json").read_text())
    del changes["rope_parameters"]
    (folder / "config.json").write_text(json.dumps({**changes, **GTE, "rope_scaling": None, "rope_theta": 160000}))
    np.testing.assert_array_equal(run(read_model(folder), content)["sequence_output"], expected)
    (folder / "config.json").write_text(json.dumps({**changes, **GTE}))
    variant = read_config(folder).variant
    # Heads of 8: 8^(2 / 8).
    assert (variant.theta, variant.position_scale) == (160000, pytest.approx(8**0.25))
    (folder / "config.json").write_text(json.dumps({**changes, **GTE, "rope_scaling": {"type": "dynamic"}}))
    with pytest.raises(ValueError, match="rope_scaling must be null or of the type 'ntk', got"):
        read_config(folder)


def test_jina_berts_code_is_not_run(tmp_path):
    folder, _ = make_folder("JinaBertModel", tmp_path / "theirs", auto_map=CODE)
    assert read_config(folder).variant.positions == "linear"
    normed = {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}
    folder, _ = make_folder("JinaBertModel", tmp_path / "normed", auto_map=normed)
    with pytest.raises(ValueError, match="auto_map must name JinaBERT's code without norms of queries and keys, got"):
        read_config(folder)


@pytest.mark.parametrize(
    ("heads", "expected"),
    [(2, [1 / 16, 1 / 256]), (3, [1 / 16, 1 / 256, 1 / 4]), (4, [1 / 4, 1 / 16, 1 / 64, 1 / 256])],
)
def test_slopes_of_heads(heads, expected):
    assert find_slopes(heads).tolist() == expected


def test_linear_bias_falls_on_both_sides_and_padding_stays_masked():
    layer = LinearBias(tiny_config(num_heads=4, variant=Gated(positions="linear")))
    padding = np.zeros((1, 1, 1, 600), "float32")
    padding[..., 599:] = -120.0
    bias = np.asarray(layer(padding))
    np.testing.assert_allclose(bias[0, 1, 2, :5] * 16, [-2, -1, 0, -1, -2])
    assert bias.min() == -120
    assert (bias[..., 599] == -120).all()
