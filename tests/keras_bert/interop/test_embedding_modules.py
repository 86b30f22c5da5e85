"""Embeddings with other poolings and with dense modules against sentence-transformers: tests/golden."""

import json
import shutil

import keras
import numpy as np
import pytest

from keras_bert.export.runtimes import open_file
from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.registry import load
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, check_equal_weights
from tests.model_files import write_file
from tests.samples import long_but

FOLDERS = GOLDEN / "sentence_transformers"
GOLDENS = json.loads((FOLDERS / "answers.json").read_text())
TEXTS = GOLDENS["texts"]


def make_folder(name, folder, inner=""):
    """A golden folder, with the encoder's files in it or in a folder in it."""
    shutil.copytree(FOLDERS / name, folder)
    shutil.copytree(GOLDEN / "hugging_face_bert_model", folder / inner, dirs_exist_ok=True)
    if inner:
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["path"] = inner
        (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.mark.parametrize("name", long_but(("max", "lasttoken", "mean+max"), GOLDENS["answers"]))
def test_vectors_are_those_of_sentence_transformers(name, tmp_path):
    task = from_hugging_face(make_folder(name, tmp_path / "theirs", inner="0_Transformer" if name == "max" else ""))
    vectors = task.predict(TEXTS)
    np.testing.assert_allclose(vectors, GOLDENS["answers"][name], atol=2e-5)
    to_hugging_face(task, tmp_path / "ours")
    task.save(tmp_path / "saved")
    for again in (from_hugging_face(tmp_path / "ours"), load(tmp_path / "saved")):
        assert again.head() == task.head()
        check_equal_weights(again.model, task.model)


def test_vectors_are_cut_as_the_settings_say(tmp_path):
    folder = make_folder("mean+max", tmp_path / "theirs")
    change_json(folder / "config_sentence_transformers.json", truncate_dim=4)
    task = from_hugging_face(folder)
    np.testing.assert_allclose(task.predict(TEXTS), np.array(GOLDENS["answers"]["mean+max"])[:, :4], atol=2e-5)
    change_json(folder / "config_sentence_transformers.json", truncate_dim=4096)
    assert "dimension" not in from_hugging_face(folder).head()


def test_tasks_on_the_encoder_share_pooling_and_dense_layers(tmp_path):
    folder = make_folder("mean+max", tmp_path / "theirs")
    task = from_hugging_face(folder)
    vectors = task.predict(TEXTS)
    for other in (Embedding.build(task.encoder, task.tokenizer, max_length=16), from_hugging_face(folder, "retrieval")):
        assert other.head() == task.head()
        np.testing.assert_array_equal(other.predict(TEXTS), vectors)
    plain = Embedding.build(task.encoder, task.tokenizer, max_length=16, projections=[], normalize=False)
    assert plain.model.output["embedding"].shape == (None, 32)
    # A classifier has no such pooling.
    labelled = Classification.build(task.encoder, task.tokenizer, labels=["a", "b"], max_length=16)
    assert labelled.head()["pooling"] == "mean"


@pytest.mark.long
def test_dense_layers_learn_and_a_new_student_has_its_own(tmp_path):
    keras.utils.set_random_seed(0)
    task = from_hugging_face(make_folder("mean+max", tmp_path / "theirs"))
    before = [weight.numpy() for weight in task.model.get_layer("projections").weights]
    task.compile(keras.optimizers.Adam(1e-2))
    inputs, cosines = task.examples(TEXTS, TEXTS[::-1], [0.5, 1.0, 0.0])
    losses = task.similarity.fit(inputs, cosines, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    after = [weight.numpy() for weight in task.model.get_layer("projections").weights]
    assert all((first != second).any() for first, second in zip(before, after, strict=True))
    student = task.rebuilt(Embedding.build(task.encoder, task.tokenizer, max_length=16).encoder)
    assert student.head() == task.head()


@pytest.mark.long
@pytest.mark.parametrize("file", ["model.tflite", "model.onnx"])
def test_files_for_other_runtimes_give_the_same_vectors(file, tmp_path):
    task = from_hugging_face(make_folder("mean+max", tmp_path / "theirs"))
    pooling = "cls+max+mean_sqrt_len_tokens+weightedmean+lasttoken"
    task = Embedding.build(task.encoder, task.tokenizer, max_length=16, pooling=pooling, projections=[{"units": 5}])
    write_file(task, tmp_path / file, (8, 16))
    answers = open_file(tmp_path / file, 16).predict_on_batch(task.encode(TEXTS))["embedding"]
    np.testing.assert_allclose(answers, task.predict(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("2_Dense/config.json", {"activation_function": "torch.nn.modules.activation.SiLU"}, "and 'SiLU'$"),
        ("2_Dense/config.json", {"activation_function": "my_code.GELU"}, "and 'my_code.GELU'$"),
        ("2_Dense/config.json", {"out_features": "7"}, r"whole number of out_features, .*, got '7', True and 'GELU'"),
        ("2_Dense/config.json", {"use_residual": True}, "use_residual must be False, got True"),
        (
            "2_Dense/config.json",
            {"out_features": 8},
            r"tensor 'projections.0.linear.weight' must have the shape \(8, 32",
        ),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "mean"]}, r"each once, got \['mean', 'mean'\]"),
        ("1_Pooling/config.json", {"pooling_mode": 3}, "the pooling must be of .*, each once, got 3"),
    ],
)
def test_refuses_modules_that_are_not_supported(file, changes, message, tmp_path):
    folder = make_folder("mean+max", tmp_path / "theirs")
    change_json(folder / file, **changes)
    with pytest.raises(ValueError, match=message):
        from_hugging_face(folder)


def test_refuses_unknown_poolings():
    with pytest.raises(ValueError, match=r"build_embedder.pooling must be one of .*joined by '\+', got 'mean\+median'"):
        from_hugging_face(GOLDEN / "hugging_face_bert_model", "embedding", pooling="mean+median")
