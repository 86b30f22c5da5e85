"""The vectors that the head of an exported file reads."""

import keras
import numpy as np
import pytest

from keras_bert.export.head_vectors import open_head_vectors
from tests.keras_bert.compress import tiny


def test_a_classifier_reads_its_pooled_vector(student, files):
    model, _ = student
    batch = {name: values[:4] for name, values in tiny.batches(1)[0].items()}
    head = keras.Model(model.inputs, model.layers[-1].input)
    vectors = open_head_vectors(files / "model_float32.tflite").predict_on_batch(batch)
    np.testing.assert_allclose(vectors, head.predict_on_batch(batch), atol=1e-4)
    assert open_head_vectors(files / "model.tflite").predict_on_batch(batch).shape == vectors.shape


@pytest.mark.parametrize("file", ["model.tflite", "model_float32.tflite"])
def test_a_head_of_tokens_has_a_vector_a_token_and_a_normalized_vector_no_head(tagger, embedder, file):
    assert len(open_head_vectors(tagger.folder / file).output.shape) == 3
    assert open_head_vectors(embedder.folder / file) is None
