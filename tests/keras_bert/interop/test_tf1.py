"""Checkpoints of google-research/bert; see tests/golden/tf1.py for how its own code made them."""

import dataclasses
import functools
import json

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="the format is TensorFlow's")

from keras_bert.interop.tf1 import from_tf1, to_tf1  # noqa: E402
from keras_bert.models.encoder import encoder_of, has_layer  # noqa: E402
from keras_bert.tasks.registry import TASKS  # noqa: E402
from keras_bert.tokenizers.tokenizer import Tokenizer  # noqa: E402
from tests.keras_bert.interop.checkpoints import (  # noqa: E402
    CONFIG,
    GOLDEN,
    KINDS,
    PIECES,
    change_json,
    check_equal_weights,
    copy_golden,
    golden,
    known_task,
    make_task,
    run,
)


def read_checkpoint(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_checkpoint(prefix, tensors):
    slices = [""] * len(tensors)
    values = [tf.constant(array) for array in tensors.values()]
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=list(tensors), shape_and_slices=slices, tensors=values)


@functools.cache
def known_checkpoint(name):
    """A golden task, for tests that change nothing of it."""
    return from_tf1(GOLDEN / f"tf1_{name}" / "model.ckpt", lowercase=True)


@pytest.fixture
def classifier(tmp_path):
    """The prefix of a checkpoint that may be broken."""
    return copy_golden("tf1_classification", tmp_path) / "model.ckpt"


def change(prefix, function):
    write_checkpoint(prefix, function(read_checkpoint(prefix)))


def log_softmax(logits):
    centred = logits - logits.max(axis=-1, keepdims=True)
    return centred - np.log(np.exp(centred).sum(axis=-1, keepdims=True))


def test_answers_are_those_that_google_computes():
    task = known_checkpoint("pretraining")
    content, real = golden("tf1_pretraining")
    outputs, states = run(task.model, content), run(encoder_of(task.model), content)
    assert type(task) is TASKS["pretraining"]
    masked = log_softmax(outputs["masked_tokens"]).reshape(6, -1)
    np.testing.assert_allclose(masked, content["output_masked_log_probabilities"], atol=1e-5)
    follows = log_softmax(outputs["next_sentence"])
    np.testing.assert_allclose(follows, content["output_next_sentence_log_probabilities"], atol=1e-5)
    np.testing.assert_allclose(states["sequence_output"][real], content["output_states"][real], atol=1e-5)
    np.testing.assert_allclose(states["pooled_output"], content["output_pooled"], atol=1e-5)
    task = known_checkpoint("classification")
    content, _ = golden("tf1_classification")
    assert task.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    np.testing.assert_allclose(run(task.model, content), content["output_logits"], atol=1e-5)
    task = known_checkpoint("question_answering")
    content, real = golden("tf1_question_answering")
    assert type(task) is TASKS["question_answering"]
    logits = run(task.model, content)
    for index, name in enumerate(("start", "end")):
        np.testing.assert_allclose(logits[real][:, index], content[f"output_{name}"][real], atol=1e-5)


@pytest.mark.parametrize("name", ["pretraining", "classification"])
def test_what_is_written_is_what_google_wrote(name, tmp_path):
    """Names, shapes and bits: Google's code restores by them."""
    source = GOLDEN / f"tf1_{name}" / "model.ckpt"
    to_tf1(known_checkpoint(name), tmp_path / "other" / "bert.ckpt")
    expected, result = read_checkpoint(source), read_checkpoint(tmp_path / "other" / "bert.ckpt")
    assert expected.keys() == result.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(result[key], array, err_msg=key)
    settings = (json.loads((folder / "bert_config.json").read_text()) for folder in (tmp_path / "other", source.parent))
    assert next(settings) == next(settings)
    assert (tmp_path / "other" / "vocab.txt").read_bytes() == (source.parent / "vocab.txt").read_bytes()
    names = {file.name for file in (tmp_path / "other").iterdir()}
    assert names == {"bert.ckpt.index", "bert.ckpt.data-00000-of-00001", "bert_config.json", "vocab.txt"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_trip_keeps_every_bit(kind, tmp_path):
    task = known_task(kind)
    to_tf1(task, tmp_path / "out" / "model.ckpt")
    labels = getattr(task, "labels", None)
    # Google's files do not tell a classification from several labels.
    name = task.name if kind == "multi_label" else None
    result = from_tf1(tmp_path / "out" / "model.ckpt", lowercase=False, labels=labels, task=name)
    check_equal_weights(task.model, result.model)
    assert type(result) is type(task)
    assert getattr(result, "labels", None) == labels
    assert (result.tokenizer.vocabulary, result.tokenizer.lowercase) == (PIECES, False)
    assert result.max_length == CONFIG.max_length


def test_a_pooler_of_zeros_stands_for_none(tmp_path):
    to_tf1(known_task("question_answering"), tmp_path / "model.ckpt")
    tensors = read_checkpoint(tmp_path / "model.ckpt")
    assert tensors["bert/pooler/dense/kernel"].shape == (8, 8)
    assert not tensors["bert/pooler/dense/kernel"].any()


def test_the_optimizers_variables_are_skipped(classifier):
    expected = known_checkpoint("classification")

    def trained(tensors):
        state = {f"{name}/adam_{kind}": array for name, array in tensors.items() for kind in "mv"}
        return {**tensors, **state, "global_step": np.int64(7)}

    change(classifier, trained)
    check_equal_weights(from_tf1(classifier, lowercase=True).model, expected.model)


def test_one_output_is_a_regression_and_a_tagger_is_told(classifier):
    task = from_tf1(classifier, lowercase=True, task="token_classification", labels=("O", "B-x", "I-x"))
    assert type(task) is TASKS["token_classification"]
    assert not has_layer(task.model, "pooler")
    change(classifier, lambda all_: {**all_, **{name: all_[name][:1] for name in ("output_weights", "output_bias")}})
    assert type(from_tf1(classifier, lowercase=True)) is TASKS["regression"]


def test_arguments_that_do_not_fit(classifier):
    for arguments, message in (
        ({"labels": ["a"]}, r"from_tf1.labels must be as many as the checkpoint's outputs \(3\), got \('a',\)"),
        ({"task": "translation"}, r"from_tf1.task must be one of \['classification', .*, got 'translation'"),
        ({"task": "pretraining", "labels": ["a"]}, "from_tf1.labels must be None for pretraining, which has none"),
        ({"task": "pretraining"}, "lacks 'cls/predictions/.* and holds 'output_bias'"),
    ):
        with pytest.raises(ValueError, match=message):
            from_tf1(classifier, lowercase=True, **arguments)
    with pytest.raises(ValueError, match="for the task 'classification' the checkpoint must hold 'output_bias'"):
        from_tf1(GOLDEN / "tf1_pretraining" / "model.ckpt", lowercase=True, task="classification")
    with pytest.raises(TypeError, match="lowercase"):
        from_tf1(classifier)
    with pytest.raises(FileNotFoundError, match=r"the prefix is the path without `.index`"):
        from_tf1(f"{classifier}.index", lowercase=True)


@pytest.mark.parametrize(
    ("name", "keeps", "message"),
    [
        *((name, False, name) for name in ("model.ckpt.index", "bert_config.json", "vocab.txt")),
        ("model.ckpt.data-00000-of-00001", False, "cannot be read: .*; likely cut short"),
        ("model.ckpt.data-00000-of-00001", True, "cannot be read: .*; likely cut short"),
        ("model.ckpt.index", True, "is not a whole TF1 checkpoint"),
    ],
)
def test_damaged_and_missing_files(name, keeps, message, classifier):
    file = classifier.parent / name
    content = file.read_bytes()
    file.unlink()
    if keeps:
        file.write_bytes(content[:-200])
    with pytest.raises(FileNotFoundError if message == name else ValueError, match=message):
        from_tf1(classifier, lowercase=True)


def test_tensors_and_configurations_that_do_not_fit(classifier):
    file = classifier.parent / "bert_config.json"
    whole = file.read_text()
    for changes, message in (
        ({"hidden_act": "tanh"}, r"hidden_act must be one of \['gelu', 'relu'\], got 'tanh'"),
        ({"vocab_size": 58}, r"must hold at most vocab_size=58 tokens, .*got 59"),
        ({"max_position_embeddings": 12}, r"must have the shape \(12, 16\) .* got \(24, 16\); likely .* never cut"),
        ({"type_vocab_size": None}, "must have the key type_vocab_size"),
        ({"num_hidden_layers": 100_000}, "must have no more layers than there are tensors, .* got 100000"),
    ):
        file.write_text(whole)
        change_json(file, **changes)
        with pytest.raises(ValueError, match=message):
            from_tf1(classifier, lowercase=True)
    file.write_text(whole)
    name = "bert/encoder/layer_1/output/dense/kernel"
    change(classifier, lambda tensors: {key.replace(name, f"{name[:-2]}l"): tensors[key] for key in tensors})
    with pytest.raises(ValueError, match=rf"lacks '{name}' \(nearest: '.*/kernl'\)"):
        from_tf1(classifier, lowercase=True)


@pytest.mark.parametrize(
    ("kind", "config", "settings", "message"),
    [
        ("regression", {"activation": "gelu_erf"}, {}, "to_tf1.activation must be gelu_tanh or relu, got 'gelu_erf'"),
        ("regression", {"layer_norm_epsilon": 1e-5}, {}, "to_tf1.layer_norm_epsilon must be 1e-12, got 1e-05"),
        (
            "embedding",
            {},
            {"normalize": False},
            r"to_tf1.embedding must be the whole mean, of length 1, .*got \('mean', False, 'cosine', \(\), None\)",
        ),
        ("embedding", {}, {"dimension": 4}, r"to_tf1.embedding must be the whole mean, .*got .* 4\)"),
    ],
)
def test_what_google_does_not_have(kind, config, settings, message, tmp_path):
    task = make_task(kind, dataclasses.replace(CONFIG, **config), Tokenizer(PIECES, True), **settings)
    with pytest.raises(ValueError, match=message):
        to_tf1(task, tmp_path / "out" / "model.ckpt")
    assert not list(tmp_path.iterdir())
