import subprocess
import sys

import numpy as np
import pytest

from keras_bert.export.runtimes import TFLiteClassifier
from tests.keras_bert.compress import tiny


def test_no_heavy_library_is_imported():
    code = (
        "import sys, keras_bert.export.runtimes;"
        "assert not {'tensorflow', 'keras', 'onnxruntime', 'onnx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_running_a_file_imports_no_tensorflow(files):
    code = (
        "import sys, numpy as np; from keras_bert.export.runtimes import OnnxClassifier, TFLiteClassifier;"
        f"row = [np.ones((1, 3), int)] * 3; print(TFLiteClassifier({str(files / 'model.tflite')!r})(*row));"
        f"print(OnnxClassifier({str(files / 'model.onnx')!r})(*row));"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_row_runs_in_the_shortest_signature_that_holds_its_tokens(files, monkeypatch):
    classifier = TFLiteClassifier(files / "model_float32.tflite")
    assert (classifier.lengths, classifier.max_length) == ((8, 16), 16)
    ran = []
    for length, signature in classifier._signatures.items():
        monkeypatch.setitem(
            classifier._signatures,
            length,
            lambda length=length, run=signature, **row: (ran.append(length), run(**row))[1],
        )
    rows = {name: np.zeros((4, 20), np.int64) for name in ("token_ids", "segment_ids", "padding_mask")}
    for row, tokens in enumerate((3, 8, 9, 16)):
        rows["padding_mask"][row, :tokens] = 1
    assert classifier(**rows).shape == (4, 2)
    assert ran == [8, 8, 16, 16]


def test_padding_changes_nothing(files):
    classifier = TFLiteClassifier(files / "model_float32.tflite")
    rows, _ = tiny.make_rows(1)
    length = int(rows["padding_mask"].sum())
    trimmed = {name: values[:, :length] for name, values in rows.items()}
    np.testing.assert_array_equal(classifier(**rows), classifier(**trimmed))


def test_a_row_that_is_too_long_is_refused(files):
    ones = np.ones((1, 17), np.int32)
    with pytest.raises(ValueError, match="a row must have at most 16 tokens, got 17"):
        TFLiteClassifier(files / "model.tflite")(ones, ones, ones)
