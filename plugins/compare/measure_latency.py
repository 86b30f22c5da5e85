"""The sizes of files, and the time of an answer: of exported files, and of the file that a model becomes."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from components.artifacts.standard import EdgeModel
from components.dsl.artifact import RecordArtifact
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.scoring.latency import TIMED_ROWS, full_row, time_rows
from keras_bert.core.folders import ANSWERING_FILES, TASK_FILE, TOKENIZER_FILES
from keras_bert.export.files import count_bytes

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.tasks.base import Task


class FileFootprint(NamedTuple):
    """The size of an exported file, and tokens of a full row, as text -> the time of one answer on one thread."""

    bytes: int
    milliseconds: dict[str, float]


class Latency(RecordArtifact[dict[str, FileFootprint]]):
    """`latency.json`: file -> {"bytes": ..., "milliseconds": {"32": ..., "128": ...}}, on one thread, by tokens."""

    record_file = "latency.json"


@component(libraries=("ai-edge-litert", "numpy", "onnxruntime"), kind="measurement")
def measure_latency(edge: Input[EdgeModel], latency: Output[Latency], lengths: tuple[int, ...] = (32, 128)) -> None:
    """Times each file on one thread with full rows of some lengths: the median of a hundred answers.

    Milliseconds depend on this machine and its present load: the step runs once, and equal inputs reuse its result.
    """
    from keras_bert.export.runtimes import open_file

    settings = edge.read_json(TASK_FILE)
    entries = len((edge.path / TOKENIZER_FILES[0]).read_text(encoding="utf-8").splitlines())
    files: dict[str, FileFootprint] = {}
    held = [name for name in ANSWERING_FILES if edge.file(name).is_file()]
    for number, name in enumerate(held):
        report_progress(number, len(held), name)
        runtime = open_file(edge.file(name), settings["max_length"])
        milliseconds = {
            str(length): time_rows(runtime.predict_on_batch, [full_row(length, entries)] * TIMED_ROWS)
            for length in lengths
        }
        files[name] = FileFootprint(count_bytes(edge.file(name)), milliseconds)
    latency.write(files)
    latency.counts = {name: figures.bytes for name, figures in files.items()}


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
