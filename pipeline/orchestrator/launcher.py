"""Runs a node: plan (inputs -> cache key -> hit or miss), launch (a child process), publish (one transaction)."""

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.artifact import Artifact
from components.dsl.canonical import Lookup, canonical, outside_data
from components.dsl.component import Node, Role
from components.dsl.errors import InputError, Refusal
from components.dsl.step_folders import StepFolders
from keras_bert.core.folders import sync
from pipeline.machine import ONE_BY_ONE, Machine
from pipeline.orchestrator.arguments import encode_argument, move_artifacts
from pipeline.orchestrator.chief import Chief, JoinRequest
from pipeline.orchestrator.disk import disk_full_as_input_error, full_disk_error
from pipeline.orchestrator.executor import PRELOAD, Child, ForkedChild
from pipeline.orchestrator.fingerprint import FIRST_PARTY, execution_key, find_code, find_ingredients
from pipeline.orchestrator.launched_child import LaunchedChild
from pipeline.orchestrator.launched_process import versions_of
from pipeline.orchestrator.locks import process_lock_file
from pipeline.orchestrator.mailbox import StepRequest
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import (
    ARTIFACTS,
    Cost,
    Execution,
    ExecutionState,
    Ingredients,
    NewArtifact,
    Outcome,
    StoredArtifact,
)
from pipeline.orchestrator.root import LOGS, STAGING, UNFINISHED, staging_prefix
from pipeline.orchestrator.root_store import RootStore


class StepError(Exception):
    """A step failed; the message names the step, its inputs, its log and the way to continue."""


class TransientStepError(StepError):
    """A step failed in a way that a retry may avoid: it was killed from outside, or lost a connection."""


class UnstartedStepError(InputError):
    """The program that starts a step failed; it may be busy, or its arguments may be wrong."""


class CheckedNode(NamedTuple):
    """The properties of a node that are known before its inputs exist."""

    parameters: dict[str, Any]
    files: dict[str, dict[str, str]]


class StepPlan(NamedTuple):
    """The plan of a step.

    Attributes:
        inputs: the artifacts in the slots of the node; None for an absent optional input.
        values: the other arguments, with lookups resolved.
        hit: the intact outputs of an earlier execution with this key; None if there are none.
        note: the reason, in words, why an earlier execution could not be reused; else empty.
    """

    node: Node
    inputs: dict[str, StoredArtifact | None]
    values: dict[str, Any]
    ingredients: Ingredients
    key: str
    hit: dict[str, StoredArtifact] | None
    note: str

    def present_inputs(self) -> dict[str, StoredArtifact]:
        """The inputs without absent ones."""
        return {name: stored for name, stored in self.inputs.items() if stored is not None}


class LaunchedStep(NamedTuple):
    """A running step: its child process, its staging folder and the outputs to be written there."""

    plan: StepPlan
    child: Child
    staging: Path
    outputs: dict[str, Artifact]
    start: float


def check_node(node: Node, first_party: Sequence[str] = FIRST_PARTY) -> CheckedNode:
    """Checks all properties of a node that are known before its inputs exist."""
    values = {name: node.values[name] for name in node.component.of_role(Role.PARAMETER)}
    read = {name: outside_data(value) for name, value in values.items()}
    checked = CheckedNode(
        parameters={name: canonical(value) for name, value in values.items()},
        files={name: digests for name, digests in read.items() if digests},
    )
    execution_key(find_ingredients(node.component, {}, checked.parameters, find_code(node.component, first_party)))
    return checked


class Launcher:
    """Plans, launches and publishes the steps of a run."""

    def __init__(
        self,
        root: Path,
        store: RootStore,
        run: int,
        *,
        machine: Machine = ONE_BY_ONE,
        preload: Sequence[str] = PRELOAD,
        first_party: Sequence[str] = FIRST_PARTY,
        chief: Chief | None = None,
    ) -> None:
        self._root = root
        self._chief = chief
        self._store = store
        self._run = run
        self._machine = machine
        self._preload = preload
        self._first_party = first_party
        # The outputs that were made or reused, by their folders.
        self._published: dict[Path, StoredArtifact] = {}

    def plan(self, node: Node, checked: CheckedNode, made: Mapping[str, Mapping[str, StoredArtifact]]) -> StepPlan:
        """Resolves the inputs among the outputs of earlier nodes, computes the key, and looks it up."""
        self._store.refresh()
        inputs = {
            name: None if handle is None else made[handle.node.name][handle.name]
            for name, handle in node.slots().items()
        }
        fingerprints = {name: stored and stored.fingerprint for name, stored in inputs.items()}
        lookups = {name: value for name, value in node.values.items() if isinstance(value, Lookup)}
        resolved = {name: value.look_up(fingerprints) for name, value in lookups.items()}
        parameters = checked.parameters | {name: canonical(value) for name, value in resolved.items()}
        files = checked.files | {name: digests for name, value in resolved.items() if (digests := outside_data(value))}
        code = find_code(node.component, self._first_party)
        ingredients = find_ingredients(node.component, fingerprints, parameters, code, files)
        key = execution_key(ingredients)
        hit = self._store.find(key)
        lost = sorted(name for name, stored in (hit or {}).items() if not self._is_intact(node, name, stored))
        note = f"made before, but {', '.join(lost)} was changed or removed on disk" if lost else ""
        return StepPlan(node, inputs, {**node.values, **resolved}, ingredients, key, None if lost else hit, note)

    def claim(self, plan: StepPlan) -> str | None:
        """Claims a step that is about to be launched; returns why it has to wait, None if it is free."""
        return self._store.claim(plan.key, plan.node.name, plan.present_inputs().values())

    def reuse(self, plan: StepPlan) -> dict[str, StoredArtifact]:
        """Records a hit and returns its outputs."""
        assert plan.hit is not None
        self._store.record(self._execution(plan, "cached", 0.0), plan.present_inputs(), plan.hit, plan.ingredients)
        return plan.hit

    @contextlib.contextmanager
    def launch(self, plan: StepPlan, watcher: Watcher) -> Iterator[LaunchedStep]:
        """Starts a step in a child process; after the context it has ended and its staging folder is deleted."""
        node, start = plan.node, time.monotonic()
        # Outputs are as deep below the root as their final folders, so that relative paths in them stay valid.
        # Short names, as scratch folders hold sockets, whose paths are limited to some 100 characters.
        staging = self._root / STAGING / f"{staging_prefix(plan.key)}{uuid.uuid4().hex[:19]}"
        log, prefix = self._log(node), self._machine.launch_prefix(node.component.kind)
        with self._store.reading(plan.key, [*plan.present_inputs().values()]), contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, staging, ignore_errors=True)
            with disk_full_as_input_error(self._root, node.name):
                log.parent.mkdir(parents=True, exist_ok=True)
                if log.exists():
                    # The log and record of an earlier try in the same run are renamed with a number.
                    number = 1 + len([*log.parent.glob(f"{log.stem}.*.log")])
                    for earlier in filter(Path.exists, (log, log.with_suffix(""))):
                        earlier.rename(earlier.with_name(f"{log.stem}.{number}{earlier.suffix}"))
                staging.mkdir(parents=True)
                outputs = {
                    name: _output_type(node, name)(staging / name) for name in node.component.of_role(Role.OUTPUT)
                }
                artifacts: dict[str, Artifact] = {}
                for name, handle in node.slots().items():
                    stored = plan.inputs[name]
                    if handle is not None and stored is not None:
                        assert stored.path is not None
                        artifacts[name] = handle.artifact(self._root / stored.path)
                arguments = {**plan.values, **node.gather(artifacts), **outputs}
                folders = StepFolders(self._checkpoints(plan), self.record_folder(node), staging / ".scratch")
                if self.needs_workers(node):
                    self._gather(plan, arguments, staging, watcher)
                child: Child
                if prefix:
                    messages = staging / ".messages"
                    messages.mkdir()
                    request = StepRequest(
                        component=(node.component.module, node.component.name),
                        versions=versions_of(plan.ingredients),
                        first_party=tuple(self._first_party),
                        log=str(log),
                        lock=str(process_lock_file(self._root, plan.key)),
                    )
                    child = LaunchedChild(prefix, self._machine.python, request, arguments, folders, messages, watcher)
                else:
                    child = ForkedChild(node.component, arguments, log, watcher, self._preload, folders)
            stack.enter_context(child)
            yield LaunchedStep(plan, child, staging, outputs, start)

    def needs_workers(self, node: Node) -> bool:
        """Whether a node trains on several processes."""
        return self._chief is not None and node.component.distributed

    def find_lost_worker(self, launched: LaunchedStep) -> Outcome | None:
        """Ends a training that a worker has left, as it would wait forever, and returns its outcome; else None."""
        message = self._chief.find_lost_worker() if self._chief and self.needs_workers(launched.plan.node) else ""
        if not message:
            return None
        launched.child.end(grace=0.0)
        return Outcome("transient", message)

    def _gather(self, plan: StepPlan, arguments: dict[str, Any], staging: Path, watcher: Watcher) -> None:
        """Waits until all workers have joined a training; they write outputs to folders of their own."""
        assert self._chief is not None

        def move(path: Path) -> Path:
            return path.relative_to(staging if path.is_relative_to(staging) else self._root)

        shared = move_artifacts(arguments, move)
        request = JoinRequest(
            name=plan.node.name,
            run=self._run,
            component=(plan.node.component.module, plan.node.component.name),
            arguments={name: encode_argument(value) for name, value in shared.items()},
            checkpoints=self._checkpoints(plan).relative_to(self._root).as_posix(),
            versions=versions_of(plan.ingredients),
            first_party=tuple(self._first_party),
        )
        self._chief.gather(request, watcher)

    def publish(self, launched: LaunchedStep, outcome: Outcome) -> dict[str, StoredArtifact]:
        """Publishes the outputs of a step that has ended.

        Raises:
            InputError: the step cannot use the user's input, or the disk is full.
            Refusal: the step refused, e.g. to push a model that was not blessed.
            TransientStepError: the step failed in a way that a retry may avoid.
            StepError: the step failed.
        """
        plan = launched.plan
        launched.child.end()
        with disk_full_as_input_error(self._root, plan.node.name):
            if outcome.kind == "done":
                # Outputs are published under the key, so the user's data must not have changed since it was computed.
                parameters = json.loads(json.dumps(plan.ingredients.parameters))
                recorded = [output.manifest()["parameters"] for output in launched.outputs.values()]
                changed = [name for name in parameters if any(made[name] != parameters[name] for made in recorded)]
                if changed:
                    message = f"{plan.node.name}.{changed[0]} changed while it was read; run again"
                    outcome = Outcome("input_error", message, outcome.cost)
            seconds = time.monotonic() - launched.start
            if outcome.kind != "done":
                raise self._failure(plan, outcome, seconds)
            # The outputs move to their final place, then they are recorded. If the process is killed in between,
            # these folders are deleted later.
            home = self._root / ARTIFACTS / plan.node.name
            home.mkdir(parents=True, exist_ok=True)
            new = {}
            for name, output in launched.outputs.items():
                fingerprint, target = output.fingerprint(), home / f"{name}-{plan.key[:12]}"
                if target.exists():
                    target.rename(launched.staging / f"{name}-replaced")
                output.path.rename(target)
                new[name] = NewArtifact(type(output).__name__, fingerprint, target.relative_to(self._root).as_posix())
            for folder in (home, home.parent, self._root):
                sync(folder)
            execution = self._execution(plan, "ran", seconds, cost=outcome.cost)
            published = self._store.publish(execution, plan.present_inputs(), new, plan.ingredients)
            self.discard(plan)
            return published

    def discard(self, plan: StepPlan) -> None:
        """Deletes the checkpoints of a step that will not be resumed."""
        shutil.rmtree(self._checkpoints(plan), ignore_errors=True)

    def record_folder(self, node: Node) -> Path:
        """The folder next to the log of a node, in which a training writes its history."""
        return self._log(node).with_suffix("")

    def output(self, node: Node, name: str, stored: StoredArtifact) -> Artifact:
        """A stored artifact as the artifact type of the node's output; `fetch` makes it available on this machine."""
        assert stored.path is not None
        artifact = _output_type(node, name)(self._root / stored.path)
        self._published[artifact.path] = stored
        return artifact

    def fetch(self, artifact: Artifact) -> None:
        """Makes an artifact of this run available on this machine; see `RootStore.fetch`."""
        if artifact.path in self._published:
            self._store.fetch(self._published[artifact.path])

    def read_json(self, artifact: Artifact, name: str) -> Any:
        """The content of one JSON file of an artifact of this run; works without `fetch`."""
        if artifact.path not in self._published or artifact.file(name).is_file():
            return artifact.read_json(name)
        return json.loads(self._store.read_file(self._published[artifact.path], name))

    def _is_intact(self, node: Node, name: str, stored: StoredArtifact) -> bool:
        """Whether an artifact is still as it was published; only one that checks more than its own files is fetched."""
        is_there = None if stored.path is None else self._store.vouches_for(stored)
        if stored.path is None or is_there is False:
            return False
        artifact = _output_type(node, name)(self._root / stored.path)
        if is_there and type(artifact).is_intact is Artifact.is_intact:
            return True
        return self._store.pull(stored) and artifact.is_intact() and artifact.fingerprint() == stored.fingerprint

    def _checkpoints(self, plan: StepPlan) -> Path:
        """The folder of a step's checkpoints; its name holds the key, so that only the same step resumes from them."""
        return self._root / UNFINISHED / f"{plan.node.name}-{plan.key[:12]}"

    def _failure(self, plan: StepPlan, outcome: Outcome, seconds: float) -> Exception:
        """Records the outcome of a step without outputs and returns it as an exception."""
        refused = outcome.kind == "refusal"
        state: ExecutionState = "refused" if refused else "failed"
        execution = self._execution(plan, state, seconds, outcome.message, outcome.cost)
        if outcome.kind == "disk_full":
            return full_disk_error(self._root, f"{plan.node.name}: {outcome.message}")
        self._store.record(execution, plan.present_inputs(), ingredients=plan.ingredients)
        if refused:
            return Refusal(outcome.message)
        if outcome.kind == "input_error":
            log = self._log(plan.node)
            log.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                log.parent.rmdir()
            return InputError(outcome.message)
        if outcome.kind == "unstarted":
            return UnstartedStepError(
                f"machine.launch must start the step {plan.node.name}, but {outcome.message}; "
                f"log: {self._log(plan.node)}"
            )
        inputs = [f"{name} = {self._root / str(stored.path)}" for name, stored in plan.present_inputs().items()]
        error_type = TransientStepError if outcome.kind == "transient" else StepError
        return error_type(
            f"Step {plan.node.name} failed: {outcome.message}\n"
            f"  inputs: {', '.join(inputs) or 'no artifacts'}\n"
            f"  log: {self._log(plan.node)}\n"
            "Fix the cause, then run the same command again: it goes on with this step."
        )

    def _execution(
        self, plan: StepPlan, state: ExecutionState, seconds: float, message: str = "", cost: Cost | None = None
    ) -> Execution:
        node = plan.node
        return Execution(self._run, node.name, node.component.name, plan.key, state, seconds, message, cost)

    def _log(self, node: Node) -> Path:
        return self._root / LOGS / str(self._run) / f"{node.name}.log"


def _output_type(node: Node, name: str) -> type[Artifact]:
    kind = node.component.parameters[name].artifact
    assert kind is not None
    return kind
