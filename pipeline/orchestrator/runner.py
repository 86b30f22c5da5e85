"""Runs a pipeline: every node after those it reads from, cached where nothing changed, resumable wherever it ended."""

import contextlib
import dataclasses
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from components.dsl.artifact import Artifact
from components.dsl.component import Node
from components.dsl.errors import InputError, Refusal
from pipeline.orchestrator.executor import PRELOAD, is_disk_full
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.launcher import Launcher, Plan, StepError, check_node
from pipeline.orchestrator.observer import Observer, StepState
from pipeline.orchestrator.root import CODE, STAGING, Root, locked_root
from pipeline.orchestrator.source_code import recall, remember
from pipeline.orchestrator.store import RunState, Store, StoredArtifact


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What became of one node.

    Attributes:
        seconds: how long it took in this run.
        outputs: its artifacts by name; empty unless it is `cached` or `ran`.
        message: why it failed or was refused, else empty.
        worked: how long it took to make the outputs, in this run or in an earlier one; 0 where there are none.
    """

    name: str
    state: StepState
    seconds: float
    outputs: dict[str, Artifact]
    message: str = ""
    worked: float = 0.0


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
    parameters = {node.name: check_node(node, first_party) for node in pipeline.nodes}
    observer = observer or Observer()
    observer.begin([node.name for node in pipeline.nodes])
    with _full_disk_told(root), _termination_interrupts(), locked_root(Path(root)) as place, _opened(place) as store:
        place.sweep(store)
        remember(code)
        run = store.start_run(pipeline.name)
        launcher = Launcher(place.path, store, run, preload=preload, first_party=first_party)
        with _recorded_end(store, run, observer, place):
            steps = _run_nodes(pipeline.nodes, parameters, launcher, store, observer)
        state = _state_of(steps)
        store.finish_run(run, state)
    return RunResult(run, place.path, state, tuple(steps))


def _run_nodes(
    nodes: Sequence[Node],
    parameters: dict[str, dict[str, Any]],
    launcher: Launcher,
    store: Store,
    observer: Observer,
) -> list[StepResult]:
    made: dict[str, dict[str, StoredArtifact]] = {}
    steps: list[StepResult] = []
    for node in nodes:
        if len(made) < len(steps):
            steps.append(StepResult(node.name, "skipped", 0.0, {}))
            observer.finished(node.name, "skipped", 0.0)
            continue
        step, outputs = _run_node(node, parameters[node.name], made, launcher, store, observer)
        steps.append(step)
        if outputs is not None:
            made[node.name] = outputs
    return steps


def _run_node(
    node: Node,
    parameters: dict[str, Any],
    made: dict[str, dict[str, StoredArtifact]],
    launcher: Launcher,
    store: Store,
    observer: Observer,
) -> tuple[StepResult, dict[str, StoredArtifact] | None]:
    """One node: its result, and what it published or found; None if it broke or was refused."""
    began = time.monotonic()
    plan = launcher.plan(node, parameters, made)
    if plan.note:
        observer.say(f"{node.name}: {plan.note}; it runs again")
    if plan.hit is not None:
        outputs = launcher.reuse(plan)
        observer.finished(node.name, "cached", time.monotonic() - began)
        return _result(launcher, store, plan, "cached", began, outputs), outputs
    try:
        with observer.step(node.name, store.last_seconds(node.component.name)) as line:
            outputs = launcher.execute(plan, line)
    except (Refusal, StepError) as end:
        state: StepState = "refused" if isinstance(end, Refusal) else "failed"
        observer.finished(node.name, state, time.monotonic() - began)
        return StepResult(node.name, state, time.monotonic() - began, {}, str(end)), None
    observer.finished(node.name, "ran", time.monotonic() - began)
    return _result(launcher, store, plan, "ran", began, outputs), outputs


def _result(
    launcher: Launcher, store: Store, plan: Plan, state: StepState, began: float, stored: dict[str, StoredArtifact]
) -> StepResult:
    outputs = {name: launcher.output(plan.node, name, artifact) for name, artifact in stored.items()}
    worked = store.seconds_of(plan.key)
    return StepResult(plan.node.name, state, time.monotonic() - began, outputs, worked=worked)


def _state_of(steps: Sequence[StepResult]) -> RunState:
    states = {step.state for step in steps}
    if "failed" in states:
        return "failed"
    return "refused" if "refused" in states else "done"


@contextlib.contextmanager
def _full_disk_told(root: str | os.PathLike[str]) -> Iterator[None]:
    """A disk that is full before a step begins, or after the last, is the user's to mend; steps tell it themselves."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_disk_full(error):
            raise
        rule = "must lie on a disk with space left"
        raise InputError(f"root {rule}, got {root}: {error}; make room, then run the same command again") from error


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
