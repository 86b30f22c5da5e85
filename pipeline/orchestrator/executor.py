"""Runs a step in a child process of a fork server, and ends it together with all processes that it started."""

import contextlib
import gc
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol, Self

from components.dsl.component import Component
from components.dsl.side_process import die_with_parent
from components.dsl.step_folders import StepFolders
from keras_bert.training.cluster import TF_CONFIG
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import Outcome, outcome_of_exit
from pipeline.orchestrator.step_command import without_keras_settings
from pipeline.orchestrator.step_process import (
    ThrottledSink,
    begin_process,
    failure_of,
    redirect_output,
    run_component,
    signal_group,
)

PRELOAD = ("tensorflow", "tensorflow_text", "keras")
TICK_SECONDS = 0.2
# A training writes a checkpoint after the current step or validation.
GRACE_SECONDS = 30.0
_PROGRESS_SECONDS = 0.1


class Child(Protocol):
    """The process of a step, as a context manager that ends it with all its descendants.

    After the context, no process writes to the outputs any more.
    """

    def __enter__(self) -> Self:
        """Returns the child, which is running."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the child."""
        self.end()

    def end(self, grace: float = ...) -> None:
        """Ends the process, if it is running, and all processes that it started."""

    def terminate(self) -> None:
        """Requests that the child saves a checkpoint and ends, without waiting for it."""

    def waitables(self) -> list[Any]:
        """Objects of which one becomes ready when there is something to `receive`; none for a child that is polled."""

    def receive(self, ready: Sequence[Any]) -> Outcome | None:
        """Handles messages or the end of the child; returns the outcome once it is known, else None."""


class ForkedChild(Child):
    """A child of the fork server on this machine, see `Child`."""

    def __init__(
        self,
        component: Component,
        arguments: Mapping[str, Any],
        log: Path,
        watcher: Watcher,
        preload: Sequence[str] = PRELOAD,
        folders: StepFolders | None = None,
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
                # The environment may have changed since the fork server started.
                self._connection.send((component, dict(arguments), folders or StepFolders(), os.environ.get(TF_CONFIG)))
        except BaseException:
            self.end()
            raise

    def end(self, grace: float = GRACE_SECONDS) -> None:
        if self._has_ended:
            return
        self._connection.close()
        pid = self._process.pid
        if pid is not None:
            if self._process.is_alive():
                self._process.terminate()
                signal_group(pid, signal.SIGTERM)
                self._process.join(grace)
            signal_group(pid, signal.SIGKILL)
            self._process.join()
        self._has_ended = True

    def terminate(self) -> None:
        if self._process.pid is not None and self._process.is_alive():
            self._process.terminate()
            signal_group(self._process.pid, signal.SIGTERM)

    def waitables(self) -> list[Any]:
        return [self._connection, self._process.sentinel]

    def receive(self, ready: Sequence[Any]) -> Outcome | None:
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
        return outcome_of_exit(self._process.exitcode)


def wait_for_any(children: Sequence[Child]) -> list[Outcome | None]:
    """Waits briefly for messages of children; returns the outcome of every child that has ended, None for others."""
    ready = wait([waitable for child in children for waitable in child.waitables()], timeout=TICK_SECONDS)
    return [child.receive(ready) for child in children]


@without_keras_settings()
def _start_server(preload: Sequence[str], log: Path) -> None:
    """Starts the fork server unless it is running; its output goes to the log, because imported libraries print."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # Steps that run side by side share a GPU: each takes memory as it needs it.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    multiprocessing.set_forkserver_preload(list(preload))
    # With SIGINT blocked, the server survives a Ctrl-C during its imports and prints no traceback.
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    streams = [(stream, os.dup(stream)) for stream in (1, 2)]
    try:
        redirect_output(log)
        multiprocessing.forkserver.ensure_running()
    finally:
        for stream, original in streams:
            os.dup2(original, stream)
            os.close(original)
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _child(connection: Connection, log: Path) -> None:
    """The main function of the child: sets up process group and log, runs the component, sends the outcome."""
    # Excludes the server's imported modules from garbage collection, which would take a tenth of a step's time.
    gc.freeze()
    begin_process(log)
    threading.Thread(target=die_with_parent, daemon=True).start()
    try:
        component, arguments, folders, cluster = connection.recv()
    except EOFError:
        return
    except Exception as error:
        connection.send(failure_of(error))
        return
    os.environ.pop(TF_CONFIG, None)
    if cluster is not None:
        os.environ[TF_CONFIG] = cluster

    def send(done: float, total: float, note: str) -> None:
        _send(connection, (done, total, note))

    _send(connection, run_component(component, arguments, folders, ThrottledSink(send, _PROGRESS_SECONDS).send))


def _send(connection: Connection, message: Any) -> None:
    """Sends a message; a parent that ends a step no longer listens, but the step still saves a checkpoint."""
    with contextlib.suppress(BrokenPipeError):
        connection.send(message)
