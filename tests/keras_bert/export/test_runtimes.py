import numpy as np
import pytest
import tensorflow as tf

from keras_bert.core.folders import INPUT_NAMES
from keras_bert.export.runtimes import OnnxModel, TFLiteModel
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.turns import most_at_once


def test_a_row_runs_in_the_shortest_signature_that_holds_its_tokens(files, monkeypatch):
    classifier = TFLiteModel(files / "model_float32.tflite")
    assert (classifier.lengths, classifier.max_length) == ((8, 16), 16)
    ran = []
    for length, signature in classifier._signatures.items():
        monkeypatch.setitem(
            classifier._signatures,
            length,
            lambda length=length, run=signature, **row: (ran.append(length), run(**row))[1],
        )
    rows = {name: np.zeros((4, 20), np.int64) for name in INPUT_NAMES}
    for row, tokens in enumerate((3, 8, 9, 16)):
        rows["padding_mask"][row, :tokens] = 1
    assert classifier(**rows).shape == (4, 2)
    assert ran == [8, 8, 16, 16]


def test_threads_take_turns(files):
    """An interpreter has one set of buffers: a thread would read the outputs of another one's row."""
    classifier = TFLiteModel(files / "model_float32.tflite")
    row = {name: np.ones((1, 8), np.int32) for name in INPUT_NAMES}
    assert most_at_once(classifier._signatures, lambda: classifier(**row)) == 1


def test_padding_changes_nothing_and_a_row_that_is_too_long_is_refused(files):
    classifier = TFLiteModel(files / "model_float32.tflite")
    rows, _ = tiny.make_rows(1)
    length = int(rows["padding_mask"].sum())
    trimmed = {name: values[:, :length] for name, values in rows.items()}
    np.testing.assert_array_equal(classifier(**rows), classifier(**trimmed))
    ones = np.ones((1, 17), np.int32)
    with pytest.raises(ValueError, match="a row must have at most 16 tokens, got 17"):
        TFLiteModel(files / "model.tflite")(**dict.fromkeys(INPUT_NAMES, ones))


def test_onnx_refuses_negative_token_ids(files):
    """ONNX counts them from the end of the table."""
    rows, _ = tiny.make_rows(1)
    rows["token_ids"][0, 1] = -1
    with pytest.raises(ValueError, match=r"model\.onnx needs token ids of at least 0, got -1$"):
        OnnxModel(files / "model.onnx", 16)(**rows)


def test_litert_refuses_token_ids_beyond_the_table(files):
    rows, _ = tiny.make_rows(1)
    rows["token_ids"][0, 1] = 1_000_000
    with pytest.raises(ValueError, match=r"^LiteRT cannot run the model: .*; a vocabulary with more tokens than the"):
        TFLiteModel(files / "model.tflite")(**rows)


def test_what_is_known_of_the_outputs_before_they_are_asked_for(files, tagger, embedder):
    assert TFLiteModel(files / "model.tflite").output.shape == (None, 2)
    assert OnnxModel(files / "model.onnx", 16).output.shape == ("batch", 2)
    assert TFLiteModel(tagger.folder / "model.tflite").output.shape == (None, 16, 3)
    outputs = TFLiteModel(embedder.folder / "model.tflite").output
    assert {name: output.shape for name, output in outputs.items()} == {"embedding": (None, 32)}


@pytest.mark.parametrize("width", [16, 20, 12])
def test_an_output_along_the_tokens_is_as_long_as_its_row_and_zero_at_padding(tagger, width):
    rows = {name: np.zeros((3, width), np.int64) for name in INPUT_NAMES}
    for row, tokens in enumerate((12, 3, 8)):
        rows["padding_mask"][row, :tokens] = 1
        rows["token_ids"][row, :tokens] = np.arange(tokens) + 5
    answers = TFLiteModel(tagger.folder / "model_float32.tflite").predict_on_batch({**rows, "further": None})
    assert answers.shape == (3, width, 3)
    assert not answers[rows["padding_mask"] == 0].any()
    expected = np.asarray(tagger.network({name: values[:, :16] for name, values in rows.items()}))
    real = rows["padding_mask"][:, :16] == 1
    np.testing.assert_allclose(answers[:, :16][real], expected[real], atol=1e-4)


def test_outputs_keep_their_names_and_a_row_of_padding_has_an_answer(embedder, tagger):
    rows = tiny.make_rows(3)[0]
    answers = TFLiteModel(embedder.folder / "model_float32.tflite").predict_on_batch(rows)
    assert answers.keys() == {"embedding"}
    np.testing.assert_allclose(answers["embedding"], np.asarray(embedder.network(rows)), atol=1e-4)
    nothing = np.zeros((1, 4), np.int32)
    answers = TFLiteModel(tagger.folder / "model_float32.tflite")(**dict.fromkeys(INPUT_NAMES, nothing))
    assert answers[0, 0].any()
    assert not answers[0, 1:].any()


def test_a_file_without_the_signatures_is_refused(tmp_path):
    function = tf.function(lambda x: x + 1.0, [tf.TensorSpec((1, 2), tf.float32)], autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    (tmp_path / "other.tflite").write_bytes(converter.convert())
    with pytest.raises(ValueError, match=r"other\.tflite must have signatures named serve_{length}, got"):
        TFLiteModel(tmp_path / "other.tflite")
