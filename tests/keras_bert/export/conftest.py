import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.onnx import export_onnx
from keras_bert.export.tflite import export_tflite
from tests.keras_bert.compress import tiny

LENGTHS = (8, 16)


@pytest.fixture(scope="session")
def student():
    """A trained model on int8 grids, and its ranges."""
    model = tiny.build(vocabulary_size=2000)
    tiny.train(model, epochs=3)
    rounded = QuantizationAware(model, tiny.batches())
    tiny.train(model, epochs=1)
    return model, rounded.finish()


@pytest.fixture(scope="session")
def files(student, tmp_path_factory):
    """The folder of its three files."""
    model, ranges = student
    folder = tmp_path_factory.mktemp("edge")
    export_tflite(model, folder / "model.tflite", LENGTHS, ranges)
    export_tflite(model, folder / "model_float32.tflite", LENGTHS)
    export_onnx(model, folder / "model.onnx")
    return folder
