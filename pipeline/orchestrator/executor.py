"""One step in a child process: started from a fork server, watched, and ended with all that it started."""

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

Kind = Literal["done", "input_error", "refusal", "disk_full", "passing", "crash"]

PRELOAD = ("tensorflow", "tensorflow_text", "keras")
TICK_SECONDS = 0.2
# A training writes a checkpoint after the step or the validation that it is in.
GRACE_SECONDS = 30.0
_LONGEST_MESSAGE = 2000


# What kills a process from outside: a full memory, a scheduler, a lost terminal.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
_PASSING_ERRORS = frozenset(
    (errno.EAGAIN, errno.EBUSY, errno.EIO, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE)
)


class Outcome(NamedTuple):
    """How a step ended.

    Attributes:
        kind: `passing` is a crash by what may be over the next time: killed from outside, a lost connection.
        message: one line, empty when it is done.
        cost: None where the child could not tell.
    """

    kind: Kind
    message: str
    cost: Cost | None = None


class Child:
    """A component that runs in a process of its own; a context that ends it with all processes that it started.

    Nothing writes to the outputs after the context.

    Args:
        component: what to run.
        arguments: artifacts and parameters, all of them.
        log: the file that takes everything the child prints.
        watcher: is told about progress.
        preload: modules that the fork server imports once, before its first child.
        place: what `workplace` answers in the child.
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
        watcher.tick()  # starting may take the server seconds, in which nothing else is drawn
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
        """Ends it, if it still runs, and all processes that it started."""
        if not self._has_ended:
            self._connection.close()
            _end(self._process)
            self._has_ended = True

    def ask_to_end(self) -> None:
        """Asks it to leave a checkpoint and end; several may do so at the same time, before their contexts end."""
        if self._process.pid is not None and self._process.is_alive():
            self._process.terminate()
            _signal_group(self._process.pid, signal.SIGTERM)

    def signs(self) -> list[Any]:
        """What becomes ready when there is something to `receive`."""
        return [self._connection, self._process.sentinel]

    def receive(self, ready: Sequence[Any]) -> Outcome | None:
        """Takes a message, or the child's end, if there is one; gives the outcome once it is known.

        Args:
            ready: those signs that are.
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
    """Waits a moment for messages of some children; gives the outcome of each that has ended, None for the others."""
    ready = wait([sign for child in children for sign in child.signs()], timeout=TICK_SECONDS)
    return [child.receive(ready) for child in children]


def _start_server(preload: Sequence[str], log: Path) -> None:
    """Starts the fork server unless it runs; what it prints goes to the log, libraries are noisy when imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    multiprocessing.set_forkserver_preload(list(preload))
    # A server that inherits a blocked SIGINT outlives a Ctrl-C during its imports, without a traceback of its own.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    ours = [(stream, os.dup(stream)) for stream in (1, 2)]
    try:
        _redirect_output(log)
        multiprocessing.forkserver.ensure_running()
    finally:
        for stream, original in ours:
            os.dup2(original, stream)
            os.close(original)
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


def _outcome_of_exit(code: int | None) -> Outcome:
    """How a child ended that gave no answer."""
    if code is None or code >= 0:
        return Outcome("crash", f"ended with exit code {code} before it was done")
    number = signal.Signals(-code)
    hint = "; the system may have run out of memory" if number is signal.SIGKILL else ""
    return Outcome("passing" if number in _FROM_OUTSIDE else "crash", f"was killed by {number.name}{hint}")


def _end(process: BaseProcess) -> None:
    """Ends the child and everything in its process group, first with a request, then without."""
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
    """The child's whole life: own process group, own log, one answer."""
    # What the server imported stays: to look through it for garbage again and again takes a tenth of a step's time.
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
        # A child of a fork server does not clean up when it ends, and libraries leave files behind.
        place.scratch.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = str(place.scratch)
    set_progress_sink(_Sender(connection).send)
    outcome = _run(component, arguments)._replace(cost=_cost())
    set_progress_sink(lambda done, total, note: None)
    sys.stdout.flush()
    connection.send(outcome)


def _log_first_party() -> None:
    """Our own steps tell the log how they go; of the libraries only warnings are of interest."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s", stream=sys.stderr, force=True)
    for package in FIRST_PARTY:
        logging.getLogger(package).setLevel(logging.INFO)


def _run(component: Component, arguments: Mapping[str, Any]) -> Outcome:
    try:
        component.run(arguments)
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
    is_passing = isinstance(error, ConnectionError | TimeoutError | MemoryError)
    return "passing" if is_passing or (isinstance(error, OSError) and error.errno in _PASSING_ERRORS) else "crash"


def _cost() -> Cost:
    """Of this process and those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Kilobytes, but on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(sum(own.ru_utime + own.ru_stime for own in used), unit * max(own.ru_maxrss for own in used))


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
    """Sends what this process and native code in it print to the log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def _sync(folder: Path) -> None:
    """Brings a folder and all that is in it to the disk."""
    for place in (*folder.rglob("*"), folder):
        sync(place)
