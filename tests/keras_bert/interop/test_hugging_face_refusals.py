"""Hugging Face folders that are refused, and why; no tokenizer, so it runs on any Keras backend."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import load, load_file, save

from keras_bert.core.config import EncoderConfig
from keras_bert.interop.hugging_face import from_hugging_face, read_model
from keras_bert.interop.weights import check_layers
from tests.keras_bert.interop.checkpoints import change_json, change_tensors, copy_golden, split_tensors


@pytest.fixture
def folder(tmp_path):
    return copy_golden("hugging_face_classification", tmp_path)


def with_tensors(**changes):
    """Tensors that are set, or left out if None; `__` in a name stands for a dot."""

    def change(content):
        tensors = {**load(content), **{name.replace("__", "."): array for name, array in changes.items()}}
        return save({name: array for name, array in tensors.items() if array is not None})

    return change


def test_shards_and_their_index(folder):
    split_tensors(folder)
    index = folder / "model.safetensors.index.json"
    held = json.loads(index.read_text())["weight_map"]
    for where, message in (
        ("model-00001-of-00002.safetensors", "lacks the tensor 'extra' that .* looks for in it"),
        ("../other.safetensors", "must hold a weight_map from tensors to files in the same folder"),
    ):
        index.write_text(json.dumps({"weight_map": {**held, "extra": where}}))
        with pytest.raises(ValueError, match=message):
            read_model(folder)
    index.write_text(json.dumps({"weight_map": held}))
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks the shard 'model-00002-of-00002.safetensors' that model"):
        read_model(folder)


WEIGHTS = "model.safetensors"
POINTER = "; it is a Git LFS pointer: run `git lfs pull`"
BIAS = "tensor 'classifier.bias' must hold finite numbers, got"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-100], r"is not a whole safetensors file \(\d+ bytes\): .*likely cut short"),
        (lambda content: content[:20], "is not a whole safetensors file .20 bytes.: .*likely cut short"),
        (lambda _: b"", "is not a whole safetensors file .0 bytes.: .*likely cut short"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\n", f"safetensors.*{POINTER[2:]}"),
        (
            with_tensors(bert__pooler__dense__weight=None, bert__pooler__dens__weight=np.ones((16, 16), "float32")),
            r"lacks 'bert.pooler.dense.weight' \(nearest: 'bert.pooler.dens.weight'\) and holds 'bert.pooler.dens",
        ),
        (with_tensors(adapter__weight=np.ones(3)), "'adapter.weight', which the model does not have"),
        (
            with_tensors(bert__embeddings__LayerNorm__gamma=np.ones(16)),
            "holds 'bert.embeddings.LayerNorm.weight' twice, once by an old name",
        ),
        (
            with_tensors(bert__embeddings__LayerNorm__weight=np.ones(16, "int8")),
            "tensor 'bert.embeddings.*' must hold float32, float16 or bfloat16, got int8",
        ),
        (
            with_tensors(classifier__weight=np.ones((4, 16), "float32")),
            r"'classifier.weight' must have the shape \(3, 16\) of the configuration, got \(4, 16\)",
        ),
        (with_tensors(classifier__bias=np.array([0, np.nan, 1], "float32")), f"{BIAS} 1 NaN and 0 infinite of 3"),
        (with_tensors(classifier__bias=np.array([0, np.inf, 1], "float32")), f"{BIAS} 0 NaN and 1 infinite of 3"),
    ],
)
def test_weights_that_are_damaged_or_do_not_fit(change, message, folder):
    (folder / WEIGHTS).write_bytes(change((folder / WEIGHTS).read_bytes()))
    with pytest.raises(ValueError, match=message):
        read_model(folder)


def test_no_weights(folder):
    (folder / WEIGHTS).unlink()
    with pytest.raises(FileNotFoundError, match=r"has no weights: neither model.safetensors nor .* nor pytorch_model"):
        read_model(folder)
    (folder / "onnx").mkdir()
    (folder / "tf_model.h5").touch()
    with pytest.raises(FileNotFoundError, match=r"; onnx and tf_model.h5, which it has, is not read: take the .*from"):
        read_model(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "ernie"}, "lacks 'ernie.embeddings.word_embeddings.weight'"),
        ({"model_type": "gpt2"}, r"config\.json: model_type 'gpt2' is not supported: it is a decoder"),
        ({"model_type": None, "vocab_size": None}, "model_type must be a family of docs/families.md, got None"),
        (
            {"model_type": "qwen3", "use_bidirectional_attention": True},
            "'qwen3' is not .*: its graph is no",
        ),
        ({"hidden_act": "mish"}, "hidden_act must be one of .*'gelu_new'.*, got 'mish'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute', got 'relative_key'"),
        ({"is_decoder": True}, "is_decoder must be False, got True"),
        ({"add_cross_attention": True}, "add_cross_attention must be False, got True"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads must be {}, got {'0'"),
        ({"quantization_config": {"bits": 8}}, "quantization_config must be absent, got {'bits': 8}"),
        ({"auto_map": {"AutoModel": "x.Y"}}, "auto_map must be absent, got"),
        ({"problem_type": "ranking"}, "must be 'single_label_classification', got 'ranking'"),
        ({"id2label": {"0": "a", "x": "b"}}, "id2label must map the numbers from 0 on to names"),
        ({"hidden_size": None}, "must have the key hidden_size"),
        ({"vocab_size": "59"}, "vocab_size must be a whole number, got '59'"),
        ({"layer_norm_eps": "x"}, "layer_norm_eps must be a number, got 'x'"),
        ({"hidden_size": 15}, r"config.json: EncoderConfig.hidden_size must be a multiple of num_heads=2, got 15"),
        ({"num_hidden_layers": 1}, "holds 'bert.encoder.layer.1.* 11 more, which the model does not have"),
        ({"num_hidden_layers": 3}, "lacks 'bert.encoder.layer.2.*; likely .* the configuration is another model's"),
        ({"num_hidden_layers": 100_000}, "must have no more layers than there are tensors, 41, got 100000"),
        ({"vocab_size": 58}, r"word_embeddings.weight' must .* \(58, 16\) .* got \(59, 16\); likely the vocab"),
        ({"max_position_embeddings": 20}, r"\(20, 16\) .* got \(24, 16\); likely .* tables are never cut"),
        ({"id2label": None, "label2id": None, "num_labels": "3"}, "config.json: num_labels must be .* 0, got '3'"),
        ({"id2label": None, "label2id": None, "num_labels": 0}, "config.json: num_labels must be .* 0, got 0"),
        ({"classifier_dropout": "x"}, "config.json: classifier_dropout must be a number .*, got 'x'"),
        ({"classifier_dropout": 2.0}, r"classifier_dropout must be a number from 0 on and below 1, .*, got 2\.0"),
        ({"hidden_act": ["gelu"]}, r"config.json: hidden_act must be one of .*, got \['gelu'\]"),
        ({"architectures": [["x"]]}, r"config.json: architectures must be a list of .*, got \[\['x'\]\]"),
        ({"architectures": 3}, "config.json: architectures must be a list of the names of classes, got 3"),
    ],
)
def test_configurations_that_do_not_fit(changes, message, folder):
    change_json(folder / "config.json", **changes)
    with pytest.raises(ValueError, match=message):
        read_model(folder)


def test_an_adapter_beside_a_whole_model(folder):
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"must not hold adapter_config.json of peft beside a whole model: .*from"):
        read_model(folder)


@pytest.mark.parametrize(("kind", "bits"), [("F8_E4M3", 8), ("F8_E5M2", 8), ("F6_E2M3", 6), ("F4", 4)])
def test_weights_in_fewer_bits(kind, bits, folder):
    file = folder / "model.safetensors"
    held = load_file(file)
    content, places = b"", {}
    for name, array in held.items():
        small = name == "classifier.weight"
        data = bytes(array.size * bits // 8) if small else array.tobytes()
        places[name] = {"dtype": kind if small else "F32", "shape": array.shape}
        places[name]["data_offsets"] = [len(content), len(content) + len(data)]
        content += data
    header = json.dumps(places).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header + content)
    message = rf"tensor 'classifier\.weight' must hold float32, float16 or bfloat16: .*, got {kind}; download"
    with pytest.raises(ValueError, match=message):
        read_model(file.parent)


def test_more_layers_that_share_tensors_than_a_model_has():
    sizes = {"hidden_size": 8, "num_heads": 2, "intermediate_size": 8, "vocabulary_size": 9, "shared_layers": True}
    check_layers(EncoderConfig(num_layers=128, **sizes), {}, "config.json")
    rule = r"^config\.json: the configuration must have no more layers with shared tensors than 128, got 100000$"
    with pytest.raises(ValueError, match=rule):
        check_layers(EncoderConfig(num_layers=100_000, **sizes), {}, "config.json")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("adapter_config.json", "an adapter of peft: read its base, and then the adapter by keras_bert.from_peft"),
        ("gliner_config.json", "a GLiNER, which finds entities by name: fine-tune an encoder for token classification"),
        ("0_StaticEmbedding", "a table of static embeddings: start from a checkpoint with an encoder"),
        ("router_config.json", "a Router of encoders for queries and documents: name the folder of one of them"),
    ],
)
def test_folders_of_other_models(name, hint, tmp_path):
    (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match=f"has no config.json; it is {hint}$"):
        read_model(tmp_path)


def test_a_head_that_is_not_tied_is_left_out(tmp_path, caplog):
    folder = copy_golden("hugging_face_masked_lm", tmp_path)
    copy = {"cls.predictions.decoder.weight": np.ones((59, 16), "float32")}
    change_tensors(folder, lambda tensors: {**tensors, **copy})
    assert "embedding" in read_model(folder).output
    line = "read as BertModel, as cls.predictions.decoder.weight is not tied to the embedding"
    assert caplog.messages[0].endswith(line)


def test_files_that_are_no_json(folder):
    for content, message in (
        ("{", "must hold JSON"),
        ("[]", r"must hold a JSON object, got \[\]"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", f"must hold JSON: .*{POINTER}"),
    ):
        (folder / "config.json").write_text(content)
        with pytest.raises(ValueError, match=message):
            read_model(folder)
    with pytest.raises(FileNotFoundError, match=rf"there is no folder .*; name that of the file, {folder}$"):
        read_model(folder / "config.json")
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no config.json$"):
        read_model(folder)
    (folder / "1").mkdir()
    (folder / "1" / "task.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=rf"has no config.json; its newest version is {folder / '1'}$"):
        read_model(folder)
    held = "it is a model of this library, which keras_bert.load reads; its files only answer, and cannot be trained"
    with pytest.raises(FileNotFoundError, match=rf"has no config.json; {held}$"):
        read_model(folder / "1")
    with pytest.raises(
        FileNotFoundError, match="there is no folder bert-base-uncased; a checkpoint of the hub is named OWNER/NAME"
    ):
        read_model("bert-base-uncased")


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow_text"])
def test_no_tensorflow(name, monkeypatch):
    for module in ("keras_bert.tokenizers.tokenizer", "keras_bert.tokenizers.tokenizer"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"needs tensorflow and tensorflow-text, .*`read_model\(folder\)`"):
        from_hugging_face("anywhere")
