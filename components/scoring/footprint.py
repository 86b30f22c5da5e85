"""Measures the size and the latency of a model's `.tflite` file, without scoring its answers."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.scoring.latency import TIMED_ROWS, full_row, time_rows

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.tasks.base import Task


def measure_file(
    task: "Task",
    quantization: "QuantizationParameters | None",
    lengths: Sequence[int],
    timed: Sequence[int],
    rows: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Bytes of the `.tflite` file that a model becomes, and milliseconds for a full row on one thread, by tokens.

    `lengths` are those of the file's signatures, `timed` the tokens of the rows that it is timed with. `rows` are
    inputs of the model (rows, width), where the recipe rounds all activations.
    """
    from keras_bert.export.bundle import attach_companions
    from keras_bert.export.quantized import export_quantized
    from keras_bert.export.runtimes import TFLiteModel

    network, entries = task.network(), task.tokenizer.vocabulary_size
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.tflite"
        export_quantized(network, file, lengths, quantization, rows, output=task.output_name)
        attach_companions(task, file)
        answer = TFLiteModel(file).predict_on_batch
        milliseconds = {str(length): time_rows(answer, [full_row(length, entries)] * TIMED_ROWS) for length in timed}
        return {"bytes": file.stat().st_size, "milliseconds": milliseconds}
