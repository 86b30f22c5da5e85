"""Writes a checkpoint of sentence vectors as files for LiteRT and ONNX Runtime.

    python -m benchmarks.harness.minilm_files CHECKPOINT FOLDER MAX_LENGTH TABLE

The texts of the table calibrate the ranges of the int8 file.
"""

import json
import sys
from pathlib import Path

from components.files.tables import read_records
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.bundle import attach_companions
from keras_bert.export.onnx import export_onnx
from keras_bert.export.tflite import export_tflite
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.tasks.embedding import Embedding

_CALIBRATION_ROWS = 256


def main() -> None:
    """Writes `float.tflite`, `int8.tflite` and `model.onnx`."""
    checkpoint, folder, max_length, table = sys.argv[1:]
    base = from_hugging_face(checkpoint)
    task = Embedding(base.model, base.tokenizer, max_length=int(max_length))
    lengths = [length for length in (16, 32, 64, 128) if length <= task.max_length]
    files = {name: Path(folder) / name for name in ("float.tflite", "int8.tflite", "model.onnx")}
    network = task.network()
    export_tflite(network, files["float.tflite"], lengths, output=task.output_name)
    export_onnx(network, files["model.onnx"], output=task.output_name)
    records = zip(read_records(table, ("text",)), range(_CALIBRATION_ROWS), strict=False)
    features = task.encode([record.values[0] for record, _ in records])
    ranges = QuantizationAware(network, [{name: features[name] for name in network.input}]).finish()
    export_tflite(network, files["int8.tflite"], lengths, ranges, output=task.output_name)
    for file in files.values():
        attach_companions(task, file)
    print(json.dumps({"files": list(files)}))


if __name__ == "__main__":
    main()
