"""The file for MediaPipe in MediaPipe for the web, in a browser: the labels, scores and vectors of Keras."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, softmax

from keras_bert.export.mediapipe import export_mediapipe
from keras_bert.models.encoder import input_names
from tests.clients.web.node import ask
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.web

TEXTS = [*make_texts(200, 40), "", "   ", "!!!"]


def outputs_of(task):
    """What Keras says to rows as long as the file's."""
    encoded = task.tokenizer.encode(TEXTS, max_length=LENGTH)
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    return task.network().predict(rows, verbose=0)


@pytest.mark.parametrize(("kind", "scores_of"), [("classification", partial(softmax, axis=1)), ("multi_label", expit)])
def test_a_classifier_answers_as_keras_does(kind, scores_of, tmp_path):
    task = make_task(kind)
    export_mediapipe(task, tmp_path / "model.tflite")
    answers = ask("ask_mediapipe.mjs", "classifier", tmp_path / "model.tflite", given=TEXTS)
    probabilities = np.array([[answer[label] for label in task.labels] for answer in answers])
    np.testing.assert_allclose(probabilities, scores_of(outputs_of(task)), atol=1e-4)


def test_an_embedding_gives_the_vectors_of_keras(tmp_path):
    task = make_task("embedding")
    export_mediapipe(task, tmp_path / "model.tflite")
    vectors = ask("ask_mediapipe.mjs", "embedder", tmp_path / "model.tflite", given=TEXTS)
    np.testing.assert_allclose(vectors, outputs_of(task), atol=1e-4)
