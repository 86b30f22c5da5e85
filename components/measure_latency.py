"""How large the files of an EdgeModel are, and how long they take to answer."""

import json
from typing import Any

from components.artifacts.edge_model import EdgeModel
from components.artifacts.latency import LATENCY_FILE, Latency
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from keras_bert.checks import check
from keras_bert.folders import ONNX_FILE, TASK_FILE, TFLITE_FILE, TFLITE_FLOAT_FILE, TOKENIZER_FILES

FILES = (TFLITE_FILE, TFLITE_FLOAT_FILE, ONNX_FILE)


@component(libraries=("ai-edge-litert", "numpy", "onnxruntime"), alone=True)
def measure_latency(edge: Input[EdgeModel], latency: Output[Latency], lengths: tuple[int, ...] = (32, 128)) -> None:
    """Times each file on one thread with full rows of some lengths: the median of a hundred answers.

    Milliseconds hold for this machine in the state that it is in: they are taken once, and found again by whoever asks
    with the same inputs.

    Args:
        edge: exported files.
        latency: the figures.
        lengths: tokens of a row.
    """
    check("measure_latency", "lengths", bool(lengths) and min(lengths) >= 3, "be at least 3 each", list(lengths))
    from components.scoring.latency import TIMED_ROWS, full_row, time_rows
    from keras_bert.export.runtimes import open_file

    settings = json.loads(edge.file(TASK_FILE).read_text())
    pieces = len((edge.path / TOKENIZER_FILES[0]).read_text(encoding="utf-8").splitlines())
    found: dict[str, Any] = {}
    held = [name for name in FILES if edge.file(name).is_file()]
    for number, name in enumerate(held):
        report_progress(number, len(held), name)
        runtime = open_file(edge.file(name), settings["max_length"])
        milliseconds = {
            str(length): time_rows(runtime.predict_on_batch, [full_row(length, pieces)] * TIMED_ROWS)
            for length in lengths
        }
        found[name] = {"bytes": edge.file(name).stat().st_size, "milliseconds": milliseconds}
    latency.file(LATENCY_FILE).write_text(json.dumps(found, indent=1) + "\n")
    latency.counts = {name: entry["bytes"] for name, entry in found.items()}
