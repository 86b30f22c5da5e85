"""Measures exported files on this machine; every measurement runs in its own process."""

import dataclasses
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.scoring.file_bench import BenchRequest
from keras_bert.core.processor import usable_processors
from keras_bert.export.files import count_bytes
from pipeline.views.description import read_description

# Numbers of threads by default, as far as there are processors.
USUAL_THREADS = (1, 2, 4)
LEAST_ANSWERS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of a benchmark.

    Attributes:
        lengths: numbers of tokens a row; empty for the lengths of the files' signatures.
        threads: numbers of threads of one answer; empty for 1, 2 and 4, as far as there are processors.
        operations: whether to profile the operations of `.onnx` files.
        here: whether the files run on this machine, which limits the threads to its processors.
    """

    lengths: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    answers: int = 200
    operations: bool = False
    here: bool = True

    def __post_init__(self) -> None:
        if any(length < 3 for length in self.lengths):
            raise InputError(f"--length must be at least 3 each, got {list(self.lengths)}")
        if any(threads < 1 for threads in self.threads):
            raise InputError(f"--threads must be at least 1 each, got {list(self.threads)}")
        if self.here and max(self.threads, default=1) > usable_processors():
            raise InputError(f"--threads must be at most the {usable_processors()} processors, got {max(self.threads)}")
        if self.answers < LEAST_ANSWERS:
            raise InputError(f"--answers must be at least {LEAST_ANSWERS}, got {self.answers}")
        if self.operations and not self.here:
            raise InputError("--operations must be left out with --adb, as it shows the operations of .onnx files")


def bench(files: Sequence[Path], options: BenchOptions) -> dict[str, Any]:
    """Measures all files with all numbers of threads, one after the other.

    An `.onnx` file takes any length: by default it is measured at the lengths of the `.tflite` files, up to its own.
    The result has `processors`, `answers`, `operations`, and `files` in their order.
    """
    inspected = [inspect_file(file) for file in files]
    threads = options.threads or tuple(count for count in USUAL_THREADS if count <= usable_processors())
    signed = sorted({length for _, facts in inspected if "delegate" in facts for length in facts["lengths"]})
    measured = []
    for request, facts in inspected:
        usual = facts["lengths"] if "delegate" in facts else [n for n in signed if n <= request.max_length]
        lengths = options.lengths or tuple(usual or facts["lengths"])
        if max(lengths) > request.max_length:
            raise InputError(f"--length must be at most {request.max_length} for {request.file}, got {max(lengths)}")
        measured.append((request._replace(lengths=lengths, answers=options.answers), facts))
    results = []
    for request, facts in measured:
        size = count_bytes(Path(request.file))
        result = {"file": request.file, "bytes": size, **facts, "lengths": list(request.lengths)}
        result["threads"] = [run_child("bench", request._replace(threads=count)) for count in threads]
        if options.operations and "delegate" not in facts:
            result["profile"] = run_child("profile", request)
        results.append(result)
    processors = usable_processors()
    return {"processors": processors, "answers": options.answers, "operations": options.operations, "files": results}


def inspect_file(file: Path) -> tuple[BenchRequest, dict[str, Any]]:
    """Reads the runtime, the lengths and the delegate of a file before it is timed."""
    content = read_description(file)
    longest = content["task"]["max_length"]
    if not isinstance(longest, int) or "entries" not in content:
        raise InputError(f"{file} must hold its vocabulary and a whole number as max_length, as files exported here do")
    request = BenchRequest(str(file), longest, content["entries"], (longest,), 1, LEAST_ANSWERS)
    return request, run_child("inside", request)


def run_child(measurement: str, request: BenchRequest) -> dict[str, Any]:
    """Runs a measurement in its own process."""
    command = [sys.executable, "-m", "components.scoring.file_bench", measurement, json.dumps(request._asdict())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, it is our own
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise InputError(f"{request.file} must be a file that its runtime can read: it ended with {name}")
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise InputError(f"{request.file} must be a file that its runtime can run: {last_line}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "error" in result:
        raise InputError(result["error"])
    return result
