"""Runs a step in a child process of a fork server, and ends it together with all processes that it started."""

import contextlib
import errno
import faulthandler
import gc
import io
import logging
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, NamedTuple

from components.dsl.artifact import sync
from components.dsl.component import Component
from components.dsl.errors import InputError, Refusal
from components.dsl.signature import Role
from components.dsl.workplace import Workplace, set_progress_sink, set_workplace
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import Cost

Kind = Literal["done", "input_error", "refusal", "disk_full", "transient", "crash"]

PRELOAD = ("tensorflow", "tensorflow_text", "keras")
TICK_SECONDS = 0.2
# A training writes a checkpoint after the current step or validation.
GRACE_SECONDS = 30.0
_LONGEST_MESSAGE = 2000


# Signals from outside of the process: memory ran out, a scheduler, a closed terminal.
_EXTERNAL_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
_TRANSIENT_ERRORS = frozenset(
    (errno.EAGAIN, errno.EBUSY, errno.EIO, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE)
)


class Outcome(NamedTuple):
    """The outcome of a step.

    Attributes:
        kind: `transient` is a crash that a retry may avoid: the process was killed from outside, or lost a connection.
        message: one line; empty if the step is done.
        cost: the used resources; None if the child did not report them.
    """

    kind: Kind
    message: str
    cost: Cost | None = None


class Child:
    """Runs a component in a separate process; as a context manager it ends the process and all its descendants.

    After the context, no process writes to the outputs any more.

    Args:
        component: the component to run.
        arguments: all artifacts and parameters.
        log: the file that receives the output of the child.
        watcher: receives the progress.
        preload: modules that the fork server imports once, before its first child.
        place: the result of `workplace` in the child.
    """

    def __init__(
        self,
        component: Component,
        arguments: Mapping[str, Any],
        log: Path,
        watcher: Watcher,
        preload: Sequence[str] = PRELOAD,
        place: Workplace | None = None,
    ) -> None:
        watcher.tick()  # starting the server may take seconds without any other update
        _start_server(preload, log)
        context = multiprocessing.get_context("forkserver")
        self._watcher, self._has_ended = watcher, False
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_child, args=(theirs, log), name=component.name)
        try:
            with theirs:
                self._process.start()
            with contextlib.suppress(BrokenPipeError):
                self._connection.send((component, dict(arguments), place or Workplace()))
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the process, if it is running, and all processes that it started."""
        if not self._has_ended:
            self._connection.close()
            _end(self._process)
            self._has_ended = True

    def terminate(self) -> None:
        """Requests that the child saves a checkpoint and ends, without waiting for it."""
        if self._process.pid is not None and self._process.is_alive():
            self._process.terminate()
            _signal_group(self._process.pid, signal.SIGTERM)

    def waitables(self) -> list[Any]:
        """The objects to wait for; one becomes ready when there is something to `receive`."""
        return [self._connection, self._process.sentinel]

    def receive(self, ready: Sequence[Any]) -> Outcome | None:
        """Handles a message or the end of the child; returns the outcome once it is known, else None.

        Args:
            ready: the waitables that are ready.
        """
        self._watcher.tick()
        if self._connection in ready:
            with contextlib.suppress(EOFError, OSError):
                message = self._connection.recv()
                if isinstance(message, Outcome):
                    return message
                self._watcher.progress(*message)
                return None
        elif self._process.sentinel not in ready:
            return None
        self._process.join()
        return _outcome_of_exit(self._process.exitcode)


def wait_for_any(children: Sequence[Child]) -> list[Outcome | None]:
    """Waits briefly for messages of children; returns the outcome of every child that has ended, None for others."""
    ready = wait([waitable for child in children for waitable in child.waitables()], timeout=TICK_SECONDS)
    return [child.receive(ready) for child in children]


def _start_server(preload: Sequence[str], log: Path) -> None:
    """Starts the fork server unless it is running; its output goes to the log, because imported libraries print."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    multiprocessing.set_forkserver_preload(list(preload))
    # With SIGINT blocked, the server survives a Ctrl-C during its imports and prints no traceback.
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    streams = [(stream, os.dup(stream)) for stream in (1, 2)]
    try:
        _redirect_output(log)
        multiprocessing.forkserver.ensure_running()
    finally:
        for stream, original in streams:
            os.dup2(original, stream)
            os.close(original)
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _outcome_of_exit(code: int | None) -> Outcome:
    """The outcome of a child that ended without reporting one."""
    if code is None or code >= 0:
        return Outcome("crash", f"ended with exit code {code} before it was done")
    number = signal.Signals(-code)
    hint = "; the system may have run out of memory" if number is signal.SIGKILL else ""
    return Outcome("transient" if number in _EXTERNAL_SIGNALS else "crash", f"was killed by {number.name}{hint}")


def _end(process: BaseProcess) -> None:
    """Ends the child and its process group: SIGTERM first, SIGKILL after a grace period."""
    if process.pid is None:
        return
    if process.is_alive():
        process.terminate()
        _signal_group(process.pid, signal.SIGTERM)
        process.join(GRACE_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    process.join()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _child(connection: Connection, log: Path) -> None:
    """The main function of the child: sets up process group and log, runs the component, sends the outcome."""
    # Excludes the server's imported modules from garbage collection, which would take a tenth of a step's time.
    gc.freeze()
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _redirect_output(log)
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, io.TextIOWrapper):
            text.reconfigure(line_buffering=True)
    faulthandler.enable()
    _log_first_party()
    try:
        component, arguments, place = connection.recv()
    except EOFError:
        return
    except Exception as error:
        traceback.print_exc()
        connection.send(Outcome("crash", _last_line(error)))
        return
    set_workplace(place)
    if place.scratch:
        # Children of a fork server run no exit handlers, and libraries leave temporary files behind.
        place.scratch.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = str(place.scratch)
    set_progress_sink(_Sender(connection).send)
    outcome = _run(component, arguments)._replace(cost=_cost())
    set_progress_sink(lambda done, total, note: None)
    sys.stdout.flush()
    connection.send(outcome)


def _log_first_party() -> None:
    """Logs INFO messages of first-party packages, and warnings of libraries."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s", stream=sys.stderr, force=True)
    for package in FIRST_PARTY:
        logging.getLogger(package).setLevel(logging.INFO)


def _run(component: Component, arguments: Mapping[str, Any]) -> Outcome:
    try:
        component.run(**arguments)
        for name in component.of_role(Role.OUTPUT):
            _sync(arguments[name].path)
    except InputError as error:
        return Outcome("input_error", " ".join(str(error).split()))
    except Refusal as refusal:
        return Outcome("refusal", " ".join(str(refusal).split()))
    except BaseException as error:
        traceback.print_exc()
        return Outcome(_kind_of(error), _last_line(error))
    return Outcome("done", "")


def _kind_of(error: BaseException) -> Kind:
    if is_disk_full(error):
        return "disk_full"
    is_transient = isinstance(error, ConnectionError | TimeoutError | MemoryError)
    return "transient" if is_transient or (isinstance(error, OSError) and error.errno in _TRANSIENT_ERRORS) else "crash"


def _cost() -> Cost:
    """The resources used by this process and its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Kilobytes; bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(
        sum(usage.ru_utime + usage.ru_stime for usage in usages), unit * max(usage.ru_maxrss for usage in usages)
    )


def _last_line(error: BaseException) -> str:
    lines = traceback.format_exception_only(error)[-1].strip().splitlines() or [type(error).__name__]
    return lines[0][:_LONGEST_MESSAGE]


class _Sender:
    """Sends progress to the parent, at most ten times a second, from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._last = 0.0

    def send(self, done: float, total: float, note: str) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._last >= 0.1 or done >= total:
                self._last = now
                self._connection.send((float(done), float(total), note))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


def _redirect_output(log: Path) -> None:
    """Redirects the output of this process, including native code, to the log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def _sync(folder: Path) -> None:
    """Flushes a folder and all its content to the disk."""
    for place in (*folder.rglob("*"), folder):
        sync(place)
