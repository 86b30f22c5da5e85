"""A second process for a part of a step, so that the step uses two cores where its libraries use one."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from components.dsl.step_folders import set_progress_sink, step_folders
from keras_bert.core.processor import usable_memory, usable_processors

T = TypeVar("T")


def can_call_beside(memory: float) -> bool:
    """Whether `call_beside` may be used: in a step's process, with two cores, and `memory` bytes for both processes.

    Other processes, such as a notebook, may have used TensorFlow, whose threads are missing in a copy of the process.
    """
    return step_folders().scratch is not None and usable_processors() > 1 and usable_memory() >= memory


def call_beside(call: Callable[[], T]) -> Callable[[], T]:
    """Runs a call in a copy of this process, and returns the function that waits for the result.

    This process must not have used TensorFlow before. The call reports no progress. Its errors are raised by the
    returned function; if a signal ends the copy, as where memory runs out, the same signal ends this process.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(call, theirs), daemon=True)
    process.start()
    theirs.close()

    def result() -> T:
        outcome: T | BaseException
        try:
            outcome = ours.recv()
        except EOFError:
            outcome = ChildProcessError("a process of the step ended before it was done")
        process.join()
        if process.exitcode is not None and process.exitcode < 0:
            signal.raise_signal(signal.Signals(-process.exitcode))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return result


def _run(call: Callable[[], T], connection: Connection) -> None:
    threading.Thread(target=die_with_parent, daemon=True).start()
    set_progress_sink(lambda done, total, note: None)
    try:
        connection.send(call())
    except BaseException as error:
        traceback.print_exc()
        connection.send(error)


def die_with_parent() -> None:
    """Waits for the end of the parent of this process, then kills the process group."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)
