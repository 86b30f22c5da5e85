"""Measures the time to open and to run an exported file, and its memory, in a process of its own.

`python -m components.scoring.file_bench NAME JSON` prints the result as a line of JSON.
"""

import importlib
import json
import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

from components.scoring.latency import full_row, on_processors, timed, times_of
from components.scoring.process_memory import peak_megabytes, reset_peak, resident_megabytes

_RUNTIMES = {".tflite": "ai_edge_litert.interpreter", ".onnx": "onnxruntime", ".pb": "tensorflow_text"}


class BenchRequest(NamedTuple):
    """The file to measure, and the rows to measure it with: `answers` of each length, after as many that are not timed.

    The runtime has `threads`; the process is kept on as many processors.
    """

    file: str
    max_length: int
    entries: int
    lengths: tuple[int, ...]
    threads: int
    answers: int


def bench_file(request: BenchRequest) -> dict[str, Any]:
    """Milliseconds to open a file and for the first answer (to the longest row), and percentiles of further answers.

    The runtime is imported before. Memory is the resident set in MB (Linux; None elsewhere): the peak of the process,
    and the peak beyond its size before it opened the file.
    """
    from keras_bert.export.runtimes import open_file

    importlib.import_module(_RUNTIMES[Path(request.file).suffix])
    rows = {length: full_row(length, request.entries) for length in request.lengths}
    reset_peak()
    before = resident_megabytes()
    with on_processors(request.threads):
        runtime, opened = timed(open_file, request.file, request.max_length, request.threads)
        _, first = timed(runtime.predict_on_batch, rows[max(rows)])
        milliseconds = {
            str(length): percentiles(times_of(runtime.predict_on_batch, [row] * request.answers))
            for length, row in rows.items()
        }
    peak = peak_megabytes()
    return {
        "threads": request.threads,
        "open_milliseconds": opened,
        "first_milliseconds": first,
        "milliseconds": milliseconds,
        "peak_megabytes": peak,
        "own_megabytes": None if peak is None or before is None else peak - before,
    }


def look_inside(request: BenchRequest) -> dict[str, Any]:
    """The runtime and the lengths of a file, and the part of a `.tflite` file that a delegate runs."""
    from keras_bert.export.delegation import count_delegated
    from keras_bert.export.runtimes import open_file

    runtime = open_file(request.file, request.max_length)
    lengths = getattr(runtime, "lengths", (request.max_length,))
    try:
        runtime.predict_on_batch(full_row(lengths[0], request.entries))
    except KeyError as error:
        raise ValueError(f"{request.file} must take BERT's inputs alone, got {error}") from None
    content = {"runtime": runtime.name, "lengths": lengths}
    if request.file.endswith(".tflite"):
        content["delegate"] = {"name": "XNNPACK", **count_delegated(request.file)._asdict()}
    return content


def profile_file(request: BenchRequest) -> dict[str, Any]:
    """The operations of an `.onnx` file for its longest row on one thread, see `profile_onnx`."""
    from keras_bert.export.delegation import profile_onnx

    length = max(request.lengths)
    with on_processors(1):
        operations = profile_onnx(request.file, full_row(length, request.entries), request.answers)
    return {"length": length, "operations": [operation._asdict() for operation in operations]}


def percentiles(milliseconds: list[float]) -> dict[str, float]:
    """The 50th, 90th and 99th percentile, interpolated linearly."""
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return {f"p{share}": cuts[share - 1] for share in (50, 90, 99)}


MEASUREMENTS = {"bench": bench_file, "inside": look_inside, "profile": profile_file}


def main() -> None:
    """Prints the result, or {"error": ...} if the file cannot be used."""
    measure, request = MEASUREMENTS[sys.argv[1]], BenchRequest(**json.loads(sys.argv[2]))
    try:
        result = measure(request)
    except ValueError as error:
        result = {"error": " ".join(str(error).split())}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
