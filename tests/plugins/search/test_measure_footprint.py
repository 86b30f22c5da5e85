"""A file that nobody trained weighs what the trained one does, but for vectors that happen to be equal there."""

import zlib

import pytest

from components.artifacts.measurements import Latency
from components.artifacts.standard import EdgeModel, Model
from components.export_model import export_model
from components.quantize import quantize
from components.training.model_folder import read_model
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE
from keras_bert.export.files import count_download_bytes
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.tables import QuantizationSettings
from plugins.search.measure_footprint import TABLE_ENTRY, measure_footprint
from tests.components.tuning_job import LENGTH, QUANTIZATION


def measured(line, folder, **given):
    """What the step writes."""
    output = Latency(folder / "latency")
    output.path.mkdir()
    measure_footprint.run(
        teacher=line.teacher, examples=line.examples, latency=output, lengths=(8, LENGTH), timed=(LENGTH,), **given
    )
    return output.read()


@pytest.mark.long
def test_as_many_bytes_as_the_trained_file_has(line, tmp_path):
    artifacts = line("classification")
    quantized, edge = Model(tmp_path / "quantized"), EdgeModel(tmp_path / "edge")
    settings = QuantizationSettings(calibration_batches=QUANTIZATION.calibration_batches, post_training=True)
    quantize.run(student=artifacts.teacher, examples=artifacts.examples, quantized=quantized, quantization=settings)
    export_model.run(
        model=quantized, examples=artifacts.examples, edge=edge, export=Export(lengths=(8,), runtimes=("tflite",))
    )
    footprint = measured(artifacts, tmp_path, shape=Student(num_layers=1), quantization=QUANTIZATION)
    # Measured on the weights of the teacher, which this model has.
    download = count_download_bytes(edge.file(TFLITE_FILE))
    assert footprint[TFLITE_FILE].download_bytes == pytest.approx(download, abs=40)
    assert footprint[TFLITE_FILE].bytes == pytest.approx(edge.file(TFLITE_FILE).stat().st_size, abs=200)
    assert footprint[TFLITE_FILE].milliseconds[str(LENGTH)] > 0
    table = read_model(quantized).model.get_layer("token_embedding").embeddings.numpy().ravel().tolist()
    values = sorted(set(table))
    integers = bytes(values.index(value) for value in table)
    assert footprint[TABLE_ENTRY].bytes == len(integers)
    assert footprint[TABLE_ENTRY].download_bytes == pytest.approx(len(zlib.compress(integers)), abs=8)
    (tmp_path / "float").mkdir()
    plain = measured(artifacts, tmp_path / "float")
    assert plain[TFLITE_FLOAT_FILE].bytes == pytest.approx(edge.file(TFLITE_FLOAT_FILE).stat().st_size, abs=200)
