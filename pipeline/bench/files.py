"""What is asked about exported files, checked, and what is found out about them, each time in a process of its own."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.scoring.file_bench import Asked
from pipeline.views.description import read_description

# Threads that are tried where so many processors are there.
USUAL_THREADS = (1, 2, 4)
LEAST_ANSWERS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to measure.

    Attributes:
        lengths: tokens of full rows; none for those of the files' signatures.
        threads: of one answer; none for 1, 2 and 4, as far as there are processors.
        answers: timed for each figure.
        operations: whether to tell where the time of `.onnx` files goes.
        here: whether on this machine, which has so many processors.

    Raises:
        InputError: one of them is out of range.
    """

    lengths: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    answers: int = 200
    operations: bool = False
    here: bool = True

    def __post_init__(self) -> None:
        if any(length < 3 for length in self.lengths):
            raise InputError(f"--lengths must be at least 3 each, got {list(self.lengths)}")
        if any(threads < 1 for threads in self.threads):
            raise InputError(f"--threads must be at least 1 each, got {list(self.threads)}")
        if self.here and max(self.threads, default=1) > processors():
            raise InputError(f"--threads must be at most the {processors()} processors, got {max(self.threads)}")
        if self.answers < LEAST_ANSWERS:
            raise InputError(f"--answers must be at least {LEAST_ANSWERS}, got {self.answers}")
        if self.operations and not self.here:
            raise InputError("--operations must be left out with --adb, as it tells the operations of .onnx files")


def bench(files: Sequence[Path], wanted: Wanted) -> dict[str, Any]:
    """Measures each file with each number of threads, one after the other.

    An `.onnx` file takes any length: it is asked about those of the `.tflite` files beside it, as far as it can read.

    Args:
        files: exported here.
        wanted: what to measure.

    Returns:
        Plain values: `processors`, `answers`, `operations`, and `files`, in their order.

    Raises:
        InputError: a file is missing, damaged or not from here, or too short for the lengths.
    """
    looked = [look(file) for file in files]
    threads = wanted.threads or tuple(count for count in USUAL_THREADS if count <= processors())
    signed = sorted({length for _, found in looked if "delegate" in found for length in found["lengths"]})
    measured = []
    for asked, found in looked:
        own = found["lengths"] if "delegate" in found else [n for n in signed if n <= asked.max_length]
        lengths = wanted.lengths or tuple(own or found["lengths"])
        if max(lengths) > asked.max_length:
            raise InputError(f"--lengths must be at most {asked.max_length} for {asked.file}, got {max(lengths)}")
        measured.append((asked._replace(lengths=lengths, answers=wanted.answers), found))
    return {
        "processors": processors(),
        "answers": wanted.answers,
        "operations": wanted.operations,
        "files": [_measure(asked, found, threads, wanted.operations) for asked, found in measured],
    }


def look(file: Path) -> tuple[Asked, dict[str, Any]]:
    """What there is to know of a file before it is timed: its runtime, lengths and delegate.

    Raises:
        InputError: it is missing, damaged or not from here.
    """
    content = read_description(file)
    longest = content["task"]["max_length"]
    if not isinstance(longest, int) or "pieces" not in content:
        raise InputError(f"{file} must hold its vocabulary and a whole number as max_length, as files exported here do")
    asked = Asked(str(file), longest, content["pieces"], (longest,), 1, LEAST_ANSWERS)
    return asked, ask("inside", asked)


def ask(about: str, asked: Asked) -> dict[str, Any]:
    """What a process of its own finds out.

    Args:
        about: a key of `pipeline.bench.child.ABOUT`.
        asked: the file.

    Raises:
        InputError: the file cannot be used; also where it brings its runtime down.
    """
    command = [sys.executable, "-m", "pipeline.bench.child", about, json.dumps(asked._asdict())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, it is our own
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise InputError(f"{asked.file} must be a file that its runtime can read: it ended with {name}")
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise InputError(f"{asked.file} must be a file that its runtime can run: {told}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "error" in found:
        raise InputError(found["error"])
    return found


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _measure(asked: Asked, found: dict[str, Any], threads: Sequence[int], operations: bool) -> dict[str, Any]:
    content = {"file": asked.file, "bytes": Path(asked.file).stat().st_size, **found, "lengths": list(asked.lengths)}
    content["threads"] = [ask("bench", asked._replace(threads=count)) for count in threads]
    if operations and "delegate" not in found:
        content["profile"] = ask("profile", asked)
    return content
