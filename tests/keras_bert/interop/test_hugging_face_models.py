"""Weights and configurations of Hugging Face folders; no tokenizer, so it runs on any Keras backend."""

import json
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.registry import FAMILIES
from keras_bert.interop.hugging_face import read_model, to_hugging_face
from keras_bert.interop.hugging_face_config import check_folder, read_config, read_head
from keras_bert.interop.names import hugging_face_format
from keras_bert.interop.sentence_transformers import PoolingSettings, write_pooling
from keras_bert.layers.regression_head import plain_weights
from keras_bert.models.encoder import config_of, encoder_of, has_layer
from tests.keras_bert.interop.checkpoints import (
    CONFIG,
    GOLDEN,
    KINDS,
    change_json,
    change_tensors,
    check_equal_weights,
    copy_golden,
    golden,
    known_model,
    known_task,
    make_task,
    run,
    split_tensors,
    weights_of,
)
from tests.keras_bert.interop.test_families import unpack

# Golden folder -> our outputs and transformers'.
OUTPUTS = {
    "bert_model": {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output"},
    "pretraining": {"masked_tokens": "prediction_logits", "next_sentence": "seq_relationship_logits"},
    "masked_lm": {"masked_tokens": "logits"},
    "classification": {"": "logits"},
    "regression": {"": "logits"},
    "token_classification": {"": "logits"},
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_answers_are_those_of_transformers(name):
    folder = f"hugging_face_{name}"
    content, real = golden(folder)
    outputs = run(known_model(folder), content)
    for ours, theirs in OUTPUTS[name].items():
        expected, result = content[f"output_{theirs}"], outputs[ours] if ours else outputs
        chosen = real if expected.shape[:2] == real.shape else slice(None)
        np.testing.assert_allclose(result[chosen], expected[chosen], atol=1e-5)


def test_the_spans_are_those_of_transformers():
    content, real = golden("hugging_face_question_answering")
    result = run(known_model("hugging_face_question_answering"), content)
    for index, name in enumerate(("start", "end")):
        np.testing.assert_allclose(result[real][:, index], content[f"output_{name}_logits"][real], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_trip_keeps_every_bit(kind, tmp_path):
    task = known_task(kind)
    to_hugging_face(task, tmp_path / "out")
    model = read_model(tmp_path / "out")
    check_equal_weights(task.model, model)
    assert config_of(model) == CONFIG
    assert model.name == task.model.name


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_reversible(kind):
    paths = [weight.path for weight in plain_weights(known_task(kind).model)]
    names = hugging_face_format(BERT, known_task(kind).name).names(paths)
    assert list(names) == paths
    assert len({foreign.name for foreign in names.values()}) == len(paths)


def test_a_second_export_writes_the_same_bytes_and_dropout_survives(tmp_path):
    task = known_task("classification")
    for name in ("one", "two"):
        to_hugging_face(task, tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    to_hugging_face(known_task("classification"), tmp_path / "out")
    assert read_model(tmp_path / "out").get_layer("classifier_dropout").rate == 0.25


@pytest.mark.parametrize(("activation", "epsilon"), [("gelu_erf", 1e-5), ("relu", 1e-12)])
def test_the_configuration_survives(activation, epsilon, tmp_path):
    config = replace(CONFIG, activation=activation, layer_norm_epsilon=epsilon)
    to_hugging_face(make_task("embedding", config), tmp_path / "out")
    assert config_of(read_model(tmp_path / "out")) == config


def test_what_is_written_looks_like_pytorchs(tmp_path):
    to_hugging_face(known_task("pretraining"), tmp_path / "out")
    with safe_open(tmp_path / "out" / "model.safetensors", framework="np") as file:
        assert file.metadata() == {"format": "pt"}
        assert "bert.encoder.layer.1.attention.output.LayerNorm.weight" in file.keys()  # noqa: SIM118
        assert not [name for name in file.keys() if "decoder" in name]  # noqa: SIM118
        assert file.get_slice("bert.encoder.layer.0.intermediate.dense.weight").get_shape() == [20, 8]


def test_encoders_without_a_pooler_and_classifiers_on_the_mean(tmp_path):
    to_hugging_face(known_task("embedding_without_pooler"), tmp_path / "out")
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert not tensors["pooler.dense.weight"].any()
    assert not has_layer(read_model(tmp_path / "out"), "pooler")
    with pytest.raises(ValueError, match="classification: pooling must be 'cls', got 'mean'"):
        to_hugging_face(make_task("classification", pooling="mean"), tmp_path / "mean")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["tokenizer.json", "modules.json", "quantization.json", "1_Pooling/config.json"])
def test_files_that_would_be_read_beside_it(name, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{}")
    with pytest.raises(ValueError, match=f"must not hold {name}, which would be read beside"):
        to_hugging_face(known_task("classification"), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [name.partition("/")[0]]


def age(tensors):
    """The names of the first checkpoints, and copies of what is tied."""
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in tensors.items()
    }
    old["bert.embeddings.position_ids"] = np.arange(24)[None]
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"]
    old["cls.predictions.decoder.bias"] = old.pop("cls.predictions.bias")
    return old


def add_pooler(tensors):
    return {**tensors, "bert.pooler.dense.weight": np.ones((16, 16), "float32"), "bert.pooler.dense.bias": np.ones(16)}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pretraining", age),
        ("bert_model", lambda tensors: {f"bert.{name}": array for name, array in tensors.items()}),
        # What nothing reads is left out.
        ("question_answering", add_pooler),
        ("masked_lm", add_pooler),
        ("classification", None),
    ],
    ids=["old names and copies", "an encoder with the prefix", "pooler of spans", "pooler of tokens", "shards"],
)
def test_other_files_of_the_same_model(name, change, tmp_path):
    folder = copy_golden(f"hugging_face_{name}", tmp_path)
    expected = known_model(f"hugging_face_{name}")
    split_tensors(folder) if change is None else change_tensors(folder, change)
    check_equal_weights(read_model(folder), expected)


def test_an_encoder_whose_file_has_no_pooler(tmp_path):
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    change_tensors(folder, lambda tensors: {name: tensors[name] for name in tensors if "pooler" not in name})
    assert set(encoder_of(read_model(folder)).output) == {"sequence_output"}


def test_both_heads_under_the_name_of_one(tmp_path):
    """As bert-base-uncased is kept."""
    folder = copy_golden("hugging_face_pretraining", tmp_path)
    change_json(folder / "config.json", architectures=["BertForMaskedLM"])
    check_equal_weights(read_model(folder), known_model("hugging_face_pretraining"))


READ_AS = "(architectures); its tensors are read as"


@pytest.mark.parametrize(
    ("name", "said", "expected", "line"),
    [
        # google's small BERTs, BertLMHeadModel, Contriever, and a head whose tensors stayed behind.
        ("pretraining", None, "pretraining", f"no class {READ_AS} BertForPreTraining"),
        ("masked_lm", ["BertLMHeadModel"], "masked_lm", f"the class BertLMHeadModel {READ_AS} BertForMaskedLM"),
        ("masked_lm", ["BertForPreTraining"], "masked_lm", f"BertForPreTraining {READ_AS} BertForMaskedLM"),
        ("bert_model", ["Contriever"], "bert_model", f"the class Contriever {READ_AS} BertModel"),
        ("bert_model", ["BertForMaskedLM"], "bert_model", f"the class BertForMaskedLM {READ_AS} BertModel"),
        ("bert_model", ["BertModel"], "bert_model", None),
    ],
)
def test_the_tensors_decide_which_class_is_read(name, said, expected, line, tmp_path, caplog):
    folder = copy_golden(f"hugging_face_{name}", tmp_path)
    change_json(folder / "config.json", architectures=said)
    check_equal_weights(read_model(folder), known_model(f"hugging_face_{expected}"))
    assert not caplog.messages if line is None else caplog.messages[0].endswith(line)


@pytest.mark.parametrize("name", ["pretraining", "token_classification"])
def test_a_pooling_makes_an_embedding_of_any_checkpoint(name, tmp_path, caplog):
    """As in rubert-tiny2, whose file has the heads of its pre-training."""
    folder = copy_golden(f"hugging_face_{name}", tmp_path)
    write_pooling(folder, PoolingSettings(), 16)
    model, whole = read_model(folder), known_model(f"hugging_face_{name}")
    assert {"embedding", "sequence_output"} <= set(model.output)
    held = weights_of(whole)
    assert all((array == held[path]).all() for path, array in weights_of(model).items() if path in held)
    assert caplog.messages[0].endswith("its tensors are read as BertModel")
    # A cross-encoder of sentence-transformers 6 lists its model alone.
    (folder / "modules.json").write_text('[{"idx": 0, "path": "", "type": "sentence_transformers.Transformer"}]')
    check_equal_weights(read_model(folder), whole)


def test_tensors_of_a_head_that_is_no_head_here(tmp_path, caplog):
    folder = copy_golden("hugging_face_classification", tmp_path)
    change_json(folder / "config.json", architectures=["BertForMultipleChoice"])
    assert set(read_model(folder).output) == {"sequence_output", "pooled_output", "embedding"}
    assert caplog.messages[0].endswith(f"the class BertForMultipleChoice {READ_AS} BertModel")


def test_the_encoders_pooler_beside_a_head_with_a_layer_of_its_own(tmp_path):
    """As in cardiffnlp's RoBERTas."""
    task = make_task("classification", replace(CONFIG, num_segments=1, position_offset=2))
    to_hugging_face(task, tmp_path / "out", family="roberta")
    pooler = {"roberta.pooler.dense.weight": np.ones((8, 8)), "roberta.pooler.dense.bias": np.ones(8)}
    change_tensors(tmp_path / "out", lambda tensors: {**tensors, **pooler})
    change_json(tmp_path / "out" / "config.json", pad_token_id=1)
    check_equal_weights(read_model(tmp_path / "out"), task.model)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "model.", "_orig_mod.module."])
def test_tensors_of_a_wrapped_model(prefix, tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    change_tensors(folder, lambda tensors: {f"{prefix}{name}": array for name, array in tensors.items()})
    check_equal_weights(read_model(folder), known_model("hugging_face_classification"))


def test_weights_in_half_precision_by_the_name_of_a_variant(tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    (folder / "model.safetensors").rename(folder / "model.fp16.safetensors")
    check_equal_weights(read_model(folder), known_model("hugging_face_classification"))


def test_the_task_embedding_of_ernie(tmp_path):
    """All tokens are of task 0, as in transformers; version 3 has it."""
    to_hugging_face(known_task("classification"), tmp_path / "out", family="ernie")
    tasks, segments = (f"ernie.embeddings.{kind}_type_embeddings.weight" for kind in ("task", "token"))
    rows, row = load_file(tmp_path / "out" / "model.safetensors")[segments], np.arange(24, dtype="float32")
    change_tensors(tmp_path / "out", lambda tensors: {**tensors, tasks: row.reshape(3, 8)})
    for use_task_id, expected in ((True, rows + row[:8]), (False, rows)):
        change_json(tmp_path / "out" / "config.json", use_task_id=use_task_id)
        weights = weights_of(read_model(tmp_path / "out"))
        np.testing.assert_array_equal(weights["segment_embedding/embeddings"], expected)


def test_float64_is_rounded(tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    change_tensors(folder, lambda tensors: {name: array.astype("float64") for name, array in tensors.items()})
    check_equal_weights(read_model(folder), known_model("hugging_face_classification"))


def test_segments_that_no_tokenizer_of_roberta_names(tmp_path):
    """As in UniXcoder."""
    task = make_task("classification", replace(CONFIG, num_segments=1, position_offset=2))
    to_hugging_face(task, tmp_path / "out", family="roberta")
    name, further = "roberta.embeddings.token_type_embeddings.weight", np.ones((9, 8), "float32")
    change_tensors(tmp_path / "out", lambda tensors: {**tensors, name: np.concatenate([tensors[name], further])})
    change_json(tmp_path / "out" / "config.json", type_vocab_size=10, pad_token_id=1)
    check_equal_weights(read_model(tmp_path / "out"), task.model)
    with pytest.raises(ValueError, match="must give segment 0 to both texts of a pair of roberta, got 1"):
        check_folder(tmp_path / "out")
    file = tmp_path / "out" / "config.json"
    file.write_text(file.read_text().replace('"type_vocab_size": 10', '"type_vocab_size": null'))
    with pytest.raises(ValueError, match="must have padding as 1"):
        check_folder(tmp_path / "out")


def test_labels_of_bilou_are_those_of_iobes(tmp_path, caplog):
    folder = copy_golden("hugging_face_token_classification", tmp_path)
    count = len(json.loads((folder / "config.json").read_text())["id2label"])
    names = ["O", "U-AGE", "L-AGE", "B-AGE", "I-AGE"][:count]
    change_json(folder / "config.json", id2label={str(number): name for number, name in enumerate(names)})
    assert read_head(folder, *read_config(folder)).labels == ("O", "S-AGE", "E-AGE", "B-AGE", "I-AGE")[:count]
    assert caplog.messages[0].endswith("BILOU's labels L- and U- are read as those of IOBES, E- and S-")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"label2id": {"bad": 2, "good": 0}}, ("bad", "so-so", "good")),
        ({"id2label": {"0": "A", "1": "B", "2": "A"}}, ("A (0)", "B", "A (2)")),
        ({"id2label": {"0": "A", "2": "C", "4": "E"}}, ("A", "LABEL_1", "C")),
        ({"hidden_act": "gelu_python"}, ("bad", "so-so", "good")),
        ({"model_type": None}, ("bad", "so-so", "good")),
    ],
)
def test_what_is_translated(changes, expected, tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    change_json(folder / "config.json", **changes)
    assert read_head(folder, *read_config(folder)).labels == expected
    assert read_model(folder).count_params() == known_model("hugging_face_classification").count_params()


@pytest.mark.parametrize("name", ["torch.nn.modules.activation.Tanh", "torch.nn.modules.activation.Sigmoid"])
def test_an_activation_that_a_model_does_not_have_is_not_left_out_in_silence(name, tmp_path, caplog):
    """Of one output, and of several, whose probabilities are a softmax here."""
    kind = "regression" if name.endswith("Tanh") else "classification"
    folder = copy_golden(f"hugging_face_{kind}", tmp_path)
    change_json(folder / "config.json", sentence_transformers={"activation_fn": name})
    content, _ = golden(f"hugging_face_{kind}")
    np.testing.assert_allclose(run(read_model(folder), content), content["output_logits"], atol=1e-5)
    assert f"returns logits, as in transformers, without the activation {name} of its cross-encoder" in caplog.text


def test_one_label_of_several(tmp_path):
    folder = copy_golden("hugging_face_regression", tmp_path)
    change_json(folder / "config.json", problem_type="multi_label_classification", id2label={"0": "toxic"})
    head = read_head(folder, *read_config(folder))
    assert (head.task, head.labels) == ("multi_label", ("toxic",))
    content, _ = golden("hugging_face_regression")
    np.testing.assert_allclose(run(read_model(folder), content), content["output_logits"], atol=1e-5)


@pytest.mark.parametrize("family", ["modernbert", "distilbert"])
def test_a_key_counts_in_the_families_that_read_it(family, tmp_path):
    """As `position_embedding_type` in mmBERT, Granite's r2 and Ettin."""
    title = FAMILIES[family].title
    folder, _ = unpack(GOLDEN / "families" / f"{title}Model.npz", tmp_path / "theirs")
    change_json(folder / "config.json", position_embedding_type="sans_pos")
    assert "embedding" in read_model(folder).output


@pytest.mark.parametrize("kind", ["float16", ml_dtypes.bfloat16])
def test_half_precision_is_read_into_float32(kind, tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    expected = {
        path: array.astype(kind).astype("float32")
        for path, array in weights_of(known_model("hugging_face_classification")).items()
    }
    change_tensors(folder, lambda tensors: {name: array.astype(kind) for name, array in tensors.items()})
    result = weights_of(read_model(folder))
    for path, array in expected.items():
        assert result[path].dtype == "float32"
        np.testing.assert_array_equal(result[path], array)
