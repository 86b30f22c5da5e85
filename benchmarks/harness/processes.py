"""A benchmark's contestant in a process of its own: what it answers, and the most memory that its processes took."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

# To look takes the kernel some milliseconds a gigabyte, in which the process cannot get memory.
_SECONDS_BETWEEN = 0.25
_SIZES = re.compile(r"^(Rss|Private_Clean|Private_Dirty):\s+(\d+) kB", re.MULTILINE)


class Watched(NamedTuple):
    """What became of a contestant.

    Attributes:
        answer: what its last line of standard output holds, as JSON.
        peak: MB of it and of all processes below it; pages that several share count once.
    """

    answer: dict[str, Any]
    peak: float


def watch(module: str, arguments: list[str]) -> Watched:
    """Runs a module under this interpreter, and looks at its memory four times a second.

    Raises:
        RuntimeError: it failed; with the end of what it wrote.
    """
    peak = 0.0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", module, *arguments]
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
    """MB of a process and of all below it, Linux only.

    What each has alone, and the largest of what they share, with whomever: of one process that is its resident set.
    """
    memory = [_memory(each) for each in tree_of(process)]
    return sum(own for own, _ in memory) + max(shared for _, shared in memory)


def tree_of(process: int) -> list[int]:
    """A process and all below it, parents first, Linux only."""
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, _read(children).split())
    return found


def _memory(process: int) -> tuple[float, float]:
    """MB that a process has alone, and that it shares."""
    found = _SIZES.findall(_read(Path(f"/proc/{process}/smaps_rollup")))
    sizes = {name: int(size) * 1024 / 1e6 for name, size in found}
    own = sizes.get("Private_Clean", 0.0) + sizes.get("Private_Dirty", 0.0)
    return own, sizes.get("Rss", 0.0) - own


def _read(file: Path) -> str:
    """Nothing, where the process has just ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
