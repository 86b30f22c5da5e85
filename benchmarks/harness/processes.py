"""Runs a benchmark's contestant in a new process: its result, and the peak memory of its processes."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

import psutil

# A measurement takes the kernel some milliseconds per gigabyte, in which the process cannot allocate memory.
_SECONDS_BETWEEN = 0.25


class Watched(NamedTuple):
    """The end of a contestant.

    Attributes:
        answer: the JSON of its last line of standard output.
        peak: MB of the process and its descendants; pages that several share count once.
    """

    answer: dict[str, Any]
    peak: float


def watch(module: str, arguments: list[str], python: str = sys.executable) -> Watched:
    """Runs a module with an interpreter, and measures its memory four times a second.

    Raises:
        RuntimeError: the module failed; with the end of its output.
    """
    peak = 0.0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [python, "-m", module, *arguments]
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=environment)
        while process.poll() is None:
            peak = max(peak, tree_memory(process.pid))
            time.sleep(_SECONDS_BETWEEN)
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{module} ended with status {process.returncode}:\n{errors.read()[-3000:]}")
        return Watched(json.loads(out.read().strip().split("\n")[-1]), peak)


def tree_memory(process: int) -> float:
    """MB of a process and of all its descendants: the sum of private memory plus the largest shared memory.

    For one process this is its resident set. A process that has ended counts nothing.
    """
    private, shared = 0.0, 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process)
        for member in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                memory = member.memory_full_info()
                private += memory.uss / 1e6
                shared = max(shared, (memory.rss - memory.uss) / 1e6)
    return private + shared
