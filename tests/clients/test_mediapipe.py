"""The file for MediaPipe in MediaPipe itself: 500 texts get the labels, scores and vectors that they get here."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.attachments import attach_entries
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.mediapipe import export_mediapipe
from keras_bert.export.mediapipe_text import measure_other_ids
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sample_texts import TEXTS
from keras_bert.models.encoder import input_names
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.clients.fuzz import PIECES, make_strings
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def texts():
    """What people type, and more than is ever seen."""
    return [*make_texts(497, 40), "", "   ", "!!!"]


@pytest.fixture(scope="module")
def classifier():
    return make_task("classification")


def ask(kind, file, texts):
    """What MediaPipe answers."""
    python = os.environ.get("CLIENTS_PYTHON")
    assert python, "CLIENTS_PYTHON must name an interpreter with mediapipe; `make test-clients` makes one"
    script = Path(__file__).with_name("ask_mediapipe.py")
    done = subprocess.run(
        [python, str(script), kind, str(file)], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(task, texts):
    rows = task.tokenizer.encode(texts, max_length=LENGTH)
    return {name: np.asarray(rows[name]) for name in input_names(task.network())}


def test_a_classifier_answers_as_keras_does(classifier, texts, tmp_path):
    export_mediapipe(classifier, tmp_path / "model.tflite")
    # As it is pushed.
    attach_companions(classifier, tmp_path / "model.tflite")
    attach_entries(tmp_path / "model.tflite", {"metrics.json": b"{}"})
    logits = classifier.network().predict(rows_of(classifier, texts), verbose=0)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    answers = ask("classifier", tmp_path / "model.tflite", texts)
    probabilities = np.array([[answer[label] for label in classifier.labels] for answer in answers])
    np.testing.assert_allclose(probabilities, shares, atol=1e-4)
    assert len({tuple(row.argsort()) for row in shares}) > 1, "not one answer to all"


def test_several_labels_have_a_score_each(texts, tmp_path):
    task = make_task("multi_label")
    export_mediapipe(task, tmp_path / "model.tflite")
    logits = task.network().predict(rows_of(task, texts), verbose=0)
    answers = ask("classifier", tmp_path / "model.tflite", texts)
    probabilities = np.array([[answer[label] for label in task.labels] for answer in answers])
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-logits)), atol=1e-4)
    assert np.abs(probabilities.sum(axis=1) - 1).max() > 0.1, "no softmax"


def test_labels_with_other_line_ends_of_unicode_are_one_label(classifier, texts, tmp_path):
    labels = ["a\u2028b", "c\x85d", "e\v\t f"]
    task = type(classifier)(classifier.model, classifier.tokenizer, labels=labels, max_length=classifier.max_length)
    export_mediapipe(task, tmp_path / "model.tflite")
    (answer,) = ask("classifier", tmp_path / "model.tflite", texts[:1])
    assert answer.keys() == {*labels}


def test_texts_that_are_not_ascii(tmp_path):
    """MediaPipe cuts them as `MediaPipeTokenizer` does, in another way than the training."""
    task = make_task("classification", tokenizer=Tokenizer(PIECES, lowercase=True))
    file = tmp_path / "model_mediapipe.tflite"
    export_mediapipe(task, file)
    attach_companions(task, file)
    texts = [
        *TEXTS,
        *make_strings(seed=11)[:500],
        "\u00c4rray of shape and values the same.",
        "\u00e9" * 40,
        "\u00e9" * 60,
    ]
    texts = [text for text in texts if "\0" not in text]
    answers = ask("classifier", file, texts)
    exported = load_exported(file)
    log_probabilities = np.log([[answer[label] for label in task.labels] for answer in answers])
    expected = [logits - np.log(np.exp(logits).sum()) for logits in exported.outputs(texts)]
    np.testing.assert_allclose(log_probabilities, expected, atol=1e-3)
    ours = task.tokenizer.tokenize(texts).to_list()
    other = [one != two for one, two in zip(ours, exported.tokenizer.tokenize(texts).to_list(), strict=True)]
    assert 0.1 < np.mean(other) == measure_other_ids(task.tokenizer, texts)


def test_an_int8_classifier_has_the_integers_of_litert(classifier, texts, tmp_path):
    rows = rows_of(classifier, texts)
    batches = [{name: values[:64] for name, values in rows.items()}]
    network = classifier.network()
    weights = network.get_weights()
    rounding = QuantizationParameters("mixed_wi8_ai8", QuantizationAware(network, batches).finish())
    export_mediapipe(classifier, tmp_path / "model.tflite", rounding)
    network.set_weights(weights)
    expected = TFLiteModel(tmp_path / "model.tflite")(**rows)["probabilities"]
    answers = ask("classifier", tmp_path / "model.tflite", texts)
    probabilities = np.array([[answer[label] for label in classifier.labels] for answer in answers])
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)


def test_an_embedding_gives_the_vectors_of_keras(texts, tmp_path):
    task = make_task("embedding")
    export_mediapipe(task, tmp_path / "model.tflite")
    expected = task.network().predict(rows_of(task, texts), verbose=0)
    expected = expected[task.output_name] if isinstance(expected, dict) else expected
    np.testing.assert_allclose(ask("embedder", tmp_path / "model.tflite", texts), expected, atol=1e-4)
