"""Runs a component in the process of its step: log, temporary files, progress and outcome."""

import contextlib
import errno
import faulthandler
import io
import logging
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.dsl.component import Component, Role
from components.dsl.errors import InputError, Refusal
from components.dsl.step_folders import ProgressSink, StepFolders, set_progress_sink, set_step_folders
from keras_bert.core.folders import sync
from keras_bert.training.cluster import TF_CONFIG
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.records import Cost, Outcome, OutcomeKind

_LONGEST_MESSAGE = 2000
_TRANSIENT_ERRORS = frozenset(
    (errno.EAGAIN, errno.EBUSY, errno.EIO, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE)
)


def begin_process(log: Path) -> None:
    """Puts this process into a session of its own, and redirects its output, including native code, to the log."""
    # A group leader can already be signalled together with its child processes.
    if os.getpgrp() != os.getpid():
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    redirect_output(log)
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, io.TextIOWrapper):
            text.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable()
    # INFO messages of first-party packages, and warnings of libraries.
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s", stream=sys.stderr, force=True)
    for package in FIRST_PARTY:
        logging.getLogger(package).setLevel(logging.INFO)


def run_component(
    component: Component, arguments: Mapping[str, Any], folders: StepFolders, sink: ProgressSink
) -> Outcome:
    """Runs a component in this process and writes its outputs to the disk; errors become outcomes."""
    if not component.distributed:
        os.environ.pop(TF_CONFIG, None)
    set_step_folders(folders)
    if folders.scratch:
        # Children of a fork server run no exit handlers, and libraries leave temporary files behind.
        folders.scratch.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = str(folders.scratch)
    set_progress_sink(sink)
    try:
        component.run(**arguments)
        for name in component.of_role(Role.OUTPUT):
            folder: Path = arguments[name].path
            for path in (*folder.rglob("*"), folder):
                sync(path)
        outcome = Outcome("done", "")
    except InputError as error:
        outcome = Outcome("input_error", " ".join(str(error).split()))
    except Refusal as refusal:
        outcome = Outcome("refusal", " ".join(str(refusal).split()))
    except BaseException as error:
        outcome = failure_of(error)
    set_progress_sink(lambda done, total, note: None)
    sys.stdout.flush()
    # The resources used by this process and its ended children, which ran beside it; in kilobytes, in bytes on macOS.
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    peak = sum(usage.ru_maxrss for usage in usages) * (1 if sys.platform == "darwin" else 1024)
    return outcome._replace(cost=Cost(seconds, peak))


def redirect_output(log: Path) -> None:
    """Redirects the output of this process, including native code, to the log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process group, if it still exists; 0 is the group of this process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def failure_of(error: BaseException) -> Outcome:
    """Returns the outcome of a process that ends with an error, and prints the traceback."""
    traceback.print_exc()
    lines = traceback.format_exception_only(error)[-1].strip().splitlines() or [type(error).__name__]
    kind: OutcomeKind = "crash"
    if is_disk_full(error):
        kind = "disk_full"
    elif isinstance(error, ConnectionError | TimeoutError | MemoryError) or (
        isinstance(error, OSError) and error.errno in _TRANSIENT_ERRORS
    ):
        kind = "transient"
    return Outcome(kind, lines[0][:_LONGEST_MESSAGE])


class ThrottledSink:
    """Passes progress on from any thread, but not too often."""

    def __init__(self, sink: ProgressSink, seconds: float) -> None:
        self._sink, self._seconds = sink, seconds
        self._lock = threading.Lock()
        self._last = 0.0

    def send(self, done: float, total: float, note: str) -> None:
        """Forwards a report, or drops it if the last report was too recent."""
        with self._lock:
            now = time.monotonic()
            if now - self._last >= self._seconds or done >= total:
                self._last = now
                self._sink(float(done), float(total), note)
