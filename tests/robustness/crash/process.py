"""Runs a command in a session, and kills all its processes at once."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

_POLL_SECONDS = 0.002
_OUTPUT_CHARACTERS = 1000


class RunEnd(NamedTuple):
    """The end of a run.

    Attributes:
        status: the exit status; None where the run was killed.
        output: the last characters of its output; empty where it was killed.
    """

    status: int | None
    output: str


def run(command: Sequence[str], log: Path, should_kill: Callable[[float], bool] | None = None) -> RunEnd:
    """Runs a command to its end, or kills it and all its descendants.

    Args:
        command: the program and its arguments.
        log: the file that takes its output.
        should_kill: seconds since the start -> kill now; called every few milliseconds. None never kills.
    """
    start_time = time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while should_kill is not None and process.poll() is None:
                if should_kill(time.monotonic() - start_time):
                    kill_tree(process.pid)
                    process.wait()
                    return RunEnd(None, "")
                time.sleep(_POLL_SECONDS)
            status = process.wait()
        except KeyboardInterrupt:
            # The run has another session, which the terminal does not interrupt.
            kill_tree(process.pid)
            process.wait()
            raise
    return RunEnd(status, log.read_text(errors="replace")[-_OUTPUT_CHARACTERS:])


def process_tree(root: int) -> list[psutil.Process]:
    """A process and all its descendants, parents first; nothing where it has ended."""
    try:
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill_tree(root: int) -> None:
    """Kills (SIGKILL) a process and its descendants, in whatever session they are, and waits until they are gone."""
    processes = process_tree(root)
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    # A child that was forked since then is still in the session of its parent.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(root, signal.SIGKILL)
    while any(map(is_running, processes)):
        time.sleep(_POLL_SECONDS)


def is_running(process: psutil.Process) -> bool:
    """True for a process that has not ended; a zombie has."""
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
