"""Runs a pipeline: every node after those it reads from, cached where nothing changed, resumable wherever it ended."""

import contextlib
import dataclasses
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.machine import Machine
from pipeline.orchestrator.course import Course, StepResult
from pipeline.orchestrator.disk import full_disk_told
from pipeline.orchestrator.executor import PRELOAD
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.launcher import Launcher, check_node
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.records import RunState
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import CODE, STAGING, Root, locked_root
from pipeline.orchestrator.source_code import recall, remember
from pipeline.orchestrator.store import Store

ALL = Request()
ONE_BY_ONE = Machine()


class BrokenError(Exception):
    """A step broke where a run is a part of something larger; the message says which."""


@dataclasses.dataclass(frozen=True)
class RunResult:
    """What became of a run.

    Attributes:
        run: its id in the store.
        root: the root, absolute.
        state: `done`, or `refused` or `failed` if a step was; no step after such a step has run.
        steps: one result a node, in the order of the pipeline.
    """

    run: int
    root: Path
    state: RunState
    steps: tuple[StepResult, ...]

    @property
    def message(self) -> str:
        """Why the run was refused or failed, else empty."""
        return next((step.message for step in self.steps if step.message), "")

    def step(self, name: str) -> StepResult:
        """The result of one node.

        Raises:
            KeyError: the pipeline has no node of this name.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)


def run_pipeline(
    pipeline: Pipeline,
    root: str | os.PathLike[str],
    *,
    request: Request = ALL,
    machine: Machine = ONE_BY_ONE,
    settings: Mapping[str, Any] | None = None,
    observer: Observer | None = None,
    preload: Sequence[str] = PRELOAD,
    first_party: Sequence[str] = FIRST_PARTY,
) -> RunResult:
    """Runs a pipeline under a root.

    A step that breaks or is refused ends the run, and the result says so. What earlier steps made stays
    published in any case, so that the same call goes on after the last finished step.

    Args:
        pipeline: what to run.
        root: the folder for artifacts, metadata and logs; made if need be.
        request: which steps are asked for.
        machine: what the run may take.
        settings: JSON values that are recorded with the run.
        observer: is told how the run goes.
        preload: modules that the fork server imports once, before the first step that has to run.
        first_party: top-level packages whose code goes into the cache keys.

    Raises:
        InputError: something the user gave cannot be used. A root made for this run is gone again, unless a step has
            finished in it or left a checkpoint.
        KeyboardInterrupt: the run was ended by SIGINT or SIGTERM; the step that ran has ended, too.
        CodeError: the code of a component cannot be followed.
    """
    code = Path(root).expanduser() / CODE
    recall(code)
    request.check(pipeline)
    nodes = request.nodes(pipeline)
    checked = {node.name: check_node(node, first_party) for node in nodes}
    observer = observer or Observer()
    observer.begin([node.name for node in nodes])
    with full_disk_told(root), _termination_interrupts(), locked_root(Path(root)) as place, _opened(place) as store:
        place.sweep(store)
        remember(code)
        run = store.start_run(pipeline.name, settings)
        launcher = Launcher(place.path, store, run, pipeline.name, preload=preload, first_party=first_party)
        course = Course(pipeline, request, checked, launcher, store, observer, machine=machine)
        with _recorded_end(store, run, observer, place):
            steps = course.run()
        state = _state_of(steps)
        store.finish_run(run, state)
    return RunResult(run, place.path, state, tuple(steps))


def _state_of(steps: Sequence[StepResult]) -> RunState:
    states = {step.state for step in steps}
    if "failed" in states:
        return "failed"
    return "refused" if "refused" in states else "done"


@contextlib.contextmanager
def _opened(place: Root) -> Iterator[Store]:
    """The store of a root; a root made for this run goes again if the store cannot be opened."""
    try:
        store = Store(place.path)
    except InputError:
        place.remove()
        raise
    with contextlib.closing(store):
        yield store


@contextlib.contextmanager
def _recorded_end(store: Store, run: int, observer: Observer, place: Root) -> Iterator[None]:
    """Records how a run ended that did not come to its end."""
    try:
        yield
    except KeyboardInterrupt:
        store.finish_run(run, "interrupted")
        observer.say("Interrupted. The same command goes on: finished steps are kept, trainings have checkpoints.")
        raise
    except InputError:
        store.finish_run(run, "failed")
        place.remove()
        raise
    except Exception:
        store.finish_run(run, "failed")
        raise
    finally:
        shutil.rmtree(place.path / STAGING, ignore_errors=True)


@contextlib.contextmanager
def _termination_interrupts() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does; signal handlers belong to the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
