"""How long an exported file takes to open and to answer, and its memory, in a process that does nothing else."""

import importlib
import re
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from components.scoring.latency import full_row, on_processors, timed, times_of

_RUNTIMES = {".tflite": "ai_edge_litert.interpreter", ".onnx": "onnxruntime"}
_STATUS = Path("/proc/self/status")


class Asked(NamedTuple):
    """What is measured.

    Attributes:
        file: `.tflite` or `.onnx`.
        max_length: the most tokens of a row.
        pieces: of the vocabulary.
        lengths: tokens of full rows.
        threads: of one answer; the process is kept on as many processors.
        answers: timed for each length, after as many that are not.
    """

    file: str
    max_length: int
    pieces: int
    lengths: tuple[int, ...]
    threads: int
    answers: int


def bench_file(asked: Asked) -> dict[str, Any]:
    """Milliseconds to open a file, to answer for the first time (the longest row), and percentiles of later answers.

    The runtime is imported before. Memory is in MB of the resident set (Linux; None elsewhere): the most that the
    process held, and the most beyond what it held before it opened the file.

    Raises:
        ValueError: the file cannot be opened, or not be asked.
    """
    from keras_bert.export.runtimes import open_file

    importlib.import_module(_RUNTIMES[Path(asked.file).suffix])
    rows = {length: full_row(length, asked.pieces) for length in asked.lengths}
    before = _begin_peak()
    with on_processors(asked.threads):
        runtime, opened = timed(open_file, asked.file, asked.max_length, asked.threads)
        _, first = timed(runtime.predict_on_batch, rows[max(rows)])
        milliseconds = {
            str(length): percentiles(times_of(runtime.predict_on_batch, [row] * asked.answers))
            for length, row in rows.items()
        }
    peak = _memory("VmHWM")
    return {
        "threads": asked.threads,
        "open_milliseconds": opened,
        "first_milliseconds": first,
        "milliseconds": milliseconds,
        "peak_megabytes": peak,
        "own_megabytes": None if peak is None or before is None else peak - before,
    }


def look_inside(asked: Asked) -> dict[str, Any]:
    """The runtime and the lengths of a file that opens and answers, and how much of a `.tflite` a delegate takes.

    Raises:
        ValueError: the file cannot be opened, or not be asked.
    """
    from keras_bert.export.delegation import count_delegated
    from keras_bert.export.runtimes import open_file

    runtime = open_file(asked.file, asked.max_length)
    lengths = getattr(runtime, "lengths", (asked.max_length,))
    try:
        runtime.predict_on_batch(full_row(lengths[0], asked.pieces))
    except KeyError as error:
        raise ValueError(f"{asked.file} must take BERT's inputs alone, got {error}") from None
    found = {"runtime": runtime.name, "lengths": lengths}
    if asked.file.endswith(".tflite"):
        found["delegate"] = {"name": "XNNPACK", **count_delegated(asked.file)._asdict()}
    return found


def profile_file(asked: Asked) -> dict[str, Any]:
    """The operations of an `.onnx` file for its longest row on one thread, see `profile_onnx`."""
    from keras_bert.export.operations import profile_onnx

    length = max(asked.lengths)
    with on_processors(1):
        operations = profile_onnx(asked.file, full_row(length, asked.pieces), asked.answers)
    return {"length": length, "operations": [operation._asdict() for operation in operations]}


def percentiles(milliseconds: list[float]) -> dict[str, float]:
    """The 50th, 90th and 99th, between neighbours on a straight line."""
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return {f"p{share}": cuts[share - 1] for share in (50, 90, 99)}


def _begin_peak() -> float | None:
    """What the process holds now, from where its peak is taken anew."""
    if _STATUS.exists():
        # Linux, Documentation/filesystems/proc.rst: 5 forgets the peak.
        Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> float | None:
    if not _STATUS.exists():
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1000
