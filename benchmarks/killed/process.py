"""A run in processes of its own, and how all of them are killed at once."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.processes import tree_of

_LOOK_SECONDS = 0.002
_SHOWN = 1000


class End(NamedTuple):
    """How a run ended: its exit status, None where it was killed, and the end of what it wrote."""

    status: int | None
    said: str


def run(command: Sequence[str], log: Path, is_time: Callable[[float], bool] | None = None) -> End:
    """Runs a command to its end, or kills it and all that it started as soon as it is time.

    Args:
        command: what to run.
        log: takes what it writes.
        is_time: asked all the while, with the seconds since the start, whether to kill; None to let it be.
    """
    began = time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while is_time is not None and process.poll() is None:
                if is_time(time.monotonic() - began):
                    kill_tree(process.pid)
                    process.wait()
                    return End(None, "")
                time.sleep(_LOOK_SECONDS)
            status = process.wait()
        except KeyboardInterrupt:
            # It has a session of its own, which nobody interrupted.
            kill_tree(process.pid)
            process.wait()
            raise
    return End(status, log.read_text(errors="replace")[-_SHOWN:])


def kill_tree(root: int) -> None:
    """SIGKILL for a process and all below it, in whatever session they are, and waits until they are gone."""
    known = tree_of(root)
    for process in known:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    # One that was started just now has no session of its own yet.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(root, signal.SIGKILL)
    while any(map(_lives, known)):
        time.sleep(_LOOK_SECONDS)


def _lives(process: int) -> bool:
    """Whether it is there, and no zombie that nobody has asked about."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
