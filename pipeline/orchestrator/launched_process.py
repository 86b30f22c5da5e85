"""The process of a step that a program has started: reads the request, runs the step, and ends with its launcher."""

import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.component import Component, find_component
from components.dsl.errors import InputError
from components.dsl.heartbeat import Heartbeat
from pipeline.orchestrator.fingerprint import find_code, find_ingredients
from pipeline.orchestrator.locks import process_locked
from pipeline.orchestrator.mailbox import BEAT_SECONDS, LOST_SECONDS, Mailbox, ProcessBeat, StepRequest
from pipeline.orchestrator.records import Ingredients, Outcome
from pipeline.orchestrator.source_code import CodeError
from pipeline.orchestrator.step_command import without_keras_settings
from pipeline.orchestrator.step_process import ThrottledSink, begin_process, failure_of, run_component, signal_group

_PROGRESS_SECONDS = 1.0
_WAIT_SECONDS = 0.2


@without_keras_settings()
def main(file: str) -> int:
    """Runs the step of a request file and returns the exit status of the process, 0 if it reported an outcome."""
    mailbox = Mailbox(Path(file).parent)
    try:
        request = mailbox.read_request()
    except FileNotFoundError:
        sys.stderr.write(
            "error: the root must have the same path on every machine that runs steps, got "
            f"{file}, which does not exist on {socket.gethostname()}\n"
        )
        return 2
    except InputError as error:
        mailbox.write_outcome(Outcome("input_error", str(error)))
        return 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    begin_process(Path(request.log))
    beats = ProcessBeats(mailbox)
    Heartbeat(beats.beat, BEAT_SECONDS)
    with process_locked(Path(request.lock), lambda: time.sleep(_WAIT_SECONDS)):
        try:
            component = find_component(*request.component)
            check_versions(component, request)
            arguments, folders = mailbox.read_arguments()
        except InputError as error:
            outcome = Outcome("input_error", str(error))
        except Exception as error:
            outcome = failure_of(error)
        else:
            sink = ThrottledSink(beats.progress, _PROGRESS_SECONDS).send
            outcome = run_component(component, arguments, folders, sink)
        mailbox.write_outcome(outcome)
    return 0


def versions_of(ingredients: Ingredients) -> dict[str, Any]:
    """The ingredients of a cache key that the process of the step must share with its launcher."""
    return {"code": ingredients.code, "libraries": dict(ingredients.libraries), "python": ingredients.python}


def check_versions(component: Component, request: StepRequest) -> None:
    """Compares code and libraries of this process with those of the launcher, which are part of the cache key."""
    difference = find_difference(component, request.versions, request.first_party)
    if difference:
        raise InputError(
            "machine.launch must start steps with the versions that the launcher has, got "
            f"{difference} on {socket.gethostname()} ({sys.executable})"
        )


def find_difference(component: Component, versions: Mapping[str, Any], first_party: Sequence[str]) -> str:
    """The first difference between this process and another one that is to run the same step; empty without one."""
    try:
        here = versions_of(find_ingredients(component, {}, {}, find_code(component, first_party)))
    except CodeError as error:
        return str(error)
    libraries = [
        f"{name} {here['libraries'].get(name)} instead of {version}"
        for name, version in versions["libraries"].items()
        if here["libraries"].get(name) != version
    ]
    if here["python"] != versions["python"]:
        return f"Python {here['python']} instead of {versions['python']}"
    if libraries:
        return ", ".join(libraries)
    return "" if here["code"] == versions["code"] else "other code of keras-bert-edge"


class ProcessBeats:
    """Writes this process' signs of life, and ends the process when its launcher is lost or requests it."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox, self._parent = mailbox, os.getppid()
        self._beat = ProcessBeat(1)
        self._launcher = mailbox.read_launcher_beat()
        self._since = time.monotonic()
        self._is_ending = False
        mailbox.write_process_beat(self._beat)

    def progress(self, done: float, total: float, note: str) -> None:
        """Receives the progress of the step."""
        self._beat = ProcessBeat(self._beat.number, done, total, note)

    def beat(self) -> None:
        """Writes the next sign of life, or ends a process whose launcher is gone: its folder, beats, or program."""
        is_orphan = os.getppid() != self._parent or not self._mailbox.folder.is_dir()
        if not is_orphan:
            newest, now = self._mailbox.read_launcher_beat(), time.monotonic()
            if newest is not None and newest != self._launcher:
                self._launcher, self._since = newest, now
            if self._launcher is not None and self._launcher.should_end and not self._is_ending:
                self._is_ending = True
                signal_group(0, signal.SIGTERM)
            is_orphan = now - self._since > LOST_SECONDS
        if is_orphan:
            signal_group(0, signal.SIGKILL)
        self._beat = self._beat._replace(number=self._beat.number + 1)
        self._mailbox.write_process_beat(self._beat)
