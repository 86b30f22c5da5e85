"""One node's life: driver (inputs -> key -> hit or miss), executor (a child process), publisher (one transaction)."""

import contextlib
import json
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.artifact import Artifact, sync
from components.dsl.canonical import canonical, outside_data
from components.dsl.component import Handle, Latest, Node
from components.dsl.errors import InputError, Refusal
from components.dsl.signature import Role
from components.dsl.workplace import Workplace
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.executor import PRELOAD, Child, Outcome
from pipeline.orchestrator.fingerprint import FIRST_PARTY, execution_key, find_code, find_ingredients
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import Cost, Execution, ExecutionState, Ingredients, NewArtifact, StoredArtifact
from pipeline.orchestrator.root import ARTIFACTS, LOGS, STAGING, UNFINISHED
from pipeline.orchestrator.store import Store


class StepError(Exception):
    """A step broke; the message says which step, what it read, where its log is and what to do."""


class PassingError(StepError):
    """A step broke by what may be over when it is tried again: it was killed from outside, or a connection was lost."""


class Checked(NamedTuple):
    """What is known of a node before its inputs exist.

    Attributes:
        parameters: the canonical ones.
        files: of each that stands for data of the user's: file -> digest.
    """

    parameters: dict[str, Any]
    files: dict[str, dict[str, str]]


class Plan(NamedTuple):
    """What the driver found out about a node.

    Attributes:
        inputs: the artifact in each slot of the node, None for an optional one that is absent.
        ingredients: what the key is made of.
        key: the execution's key.
        hit: the intact outputs of an earlier execution with this key, or None.
        note: why an earlier execution could not be reused, for a person; else empty.
    """

    node: Node
    inputs: dict[str, StoredArtifact | None]
    ingredients: Ingredients
    key: str
    hit: dict[str, StoredArtifact] | None
    note: str

    def present_inputs(self) -> dict[str, StoredArtifact]:
        """The inputs that are there."""
        return {name: stored for name, stored in self.inputs.items() if stored is not None}


class Launched(NamedTuple):
    """A miss that runs: its child, the folder that it writes into, and what it is to make there."""

    plan: Plan
    child: Child
    staging: Path
    outputs: dict[str, Artifact]
    began: float


def check_node(node: Node, first_party: Sequence[str] = FIRST_PARTY) -> Checked:
    """The parameters of a node; everything about it that can be known before its inputs exist is checked.

    Raises:
        InputError: a parameter stands for data that cannot be used.
        CodeError: the code of the component cannot be followed.
        TypeError: a parameter has no canonical form.
    """
    values = {name: node.values[name] for name in node.component.of_role(Role.PARAMETER)}
    read = {name: outside_data(value) for name, value in values.items()}
    checked = Checked(
        parameters={name: canonical(value) for name, value in values.items()},
        files={name: digests for name, digests in read.items() if digests},
    )
    execution_key(find_ingredients(node.component, {}, checked.parameters, find_code(node.component, first_party)))
    return checked


class Launcher:
    """Runs the nodes of one run.

    Args:
        root: the root, absolute.
        store: its metadata.
        run: the id of the run.
        pipeline: its name.
        preload: modules that the fork server imports once.
        first_party: top-level packages whose code goes into the keys.
    """

    def __init__(
        self,
        root: Path,
        store: Store,
        run: int,
        pipeline: str,
        *,
        preload: Sequence[str] = PRELOAD,
        first_party: Sequence[str] = FIRST_PARTY,
    ) -> None:
        self._root = root
        self._store = store
        self._run = run
        self._pipeline = pipeline
        self._preload = preload
        self._first_party = first_party

    def plan(self, node: Node, checked: Checked, made: Mapping[str, Mapping[str, StoredArtifact]]) -> Plan:
        """The driver: finds the inputs among what earlier nodes made, and looks for an execution to reuse."""
        inputs = {name: self._resolve(given, made) for name, given in node.slots().items()}
        fingerprints = {name: stored and stored.fingerprint for name, stored in inputs.items()}
        code = find_code(node.component, self._first_party)
        ingredients = find_ingredients(node.component, fingerprints, checked.parameters, code, checked.files)
        key = execution_key(ingredients)
        found = self._store.find(key)
        lost = sorted(name for name, stored in (found or {}).items() if not self._is_intact(node, name, stored))
        note = f"made before, but {', '.join(lost)} was changed or removed on disk" if lost else ""
        return Plan(node, inputs, ingredients, key, None if lost else found, note)

    def reuse(self, plan: Plan) -> dict[str, StoredArtifact]:
        """Records a hit and returns its outputs."""
        assert plan.hit is not None
        execution = self._execution(plan, "cached", 0.0)
        self._store.record(execution, plan.present_inputs(), plan.hit, plan.ingredients)
        return plan.hit

    @contextlib.contextmanager
    def launch(self, plan: Plan, watcher: Watcher) -> Iterator[Launched]:
        """Starts a miss in a child process; it is ended, and what it wrote is gone, after the context.

        Raises:
            StepError: the disk is full.
        """
        began = time.monotonic()
        staging = self._root / STAGING / uuid.uuid4().hex
        log = self._log(plan.node)
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, staging, ignore_errors=True)
            with self._room_on_disk(plan, began):
                log.parent.mkdir(parents=True, exist_ok=True)
                _put_aside(log)
                staging.mkdir(parents=True)
                outputs = self._outputs(plan.node, staging)
                place = Workplace(self._unfinished(plan), log.with_suffix(""), staging / ".scratch")
                arguments = self._arguments(plan, outputs)
                child = Child(plan.node.component, arguments, log, watcher, self._preload, place)
            yield Launched(plan, stack.enter_context(child), staging, outputs, began)

    def publish(self, launched: Launched, outcome: Outcome) -> dict[str, StoredArtifact]:
        """Publishes the outputs of a child that has ended.

        Raises:
            InputError: the step cannot use what the user gave.
            Refusal: the step's answer is no.
            PassingError: the step broke by what may be over when it is tried again.
            StepError: the step broke.
        """
        plan, outputs = launched.plan, launched.outputs
        launched.child.end()
        with self._room_on_disk(plan, launched.began):
            if outcome.kind == "done":
                outcome = _check_parameters(plan, outputs)._replace(cost=outcome.cost)
            seconds = time.monotonic() - launched.began
            if outcome.kind == "done":
                return self._publish(launched, self._execution(plan, "ran", seconds, cost=outcome.cost))
        raise self._failure(plan, outcome, seconds)

    @contextlib.contextmanager
    def _room_on_disk(self, plan: Plan, began: float) -> Iterator[None]:
        """Tells of a full disk as of a step that broke, whoever wrote to it."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if not is_disk_full(error):
                raise
            raise self._failure(plan, Outcome("disk_full", str(error)), time.monotonic() - began) from error

    def output(self, node: Node, name: str, stored: StoredArtifact) -> Artifact:
        """A stored artifact as the typed directory that an output of the node is."""
        assert stored.path is not None
        return _output_type(node, name)(self._root / stored.path)

    def _resolve(
        self, given: Handle | Latest | None, made: Mapping[str, Mapping[str, StoredArtifact]]
    ) -> StoredArtifact | None:
        if given is None:
            return None
        if isinstance(given, Handle):
            return made[given.node.name][given.name]
        besides = made[given.besides.node.name][given.besides.name]
        for stored in self._store.published(given.artifact.__name__, besides.fingerprint, self._pipeline):
            assert stored.path is not None
            if _holds(given.artifact(self._root / stored.path), stored):
                return stored
        return None

    def _is_intact(self, node: Node, name: str, stored: StoredArtifact) -> bool:
        return stored.path is not None and _holds(self.output(node, name, stored), stored)

    def _outputs(self, node: Node, folder: Path) -> dict[str, Artifact]:
        return {name: _output_type(node, name)(folder / name) for name in node.component.of_role(Role.OUTPUT)}

    def _arguments(self, plan: Plan, outputs: Mapping[str, Artifact]) -> dict[str, Any]:
        filled: dict[str, Artifact] = {}
        for name, given in plan.node.slots().items():
            stored = plan.inputs[name]
            if given is not None and stored is not None:
                assert stored.path is not None
                filled[name] = given.artifact(self._root / stored.path)
        return {**plan.node.values, **plan.node.gather(filled), **outputs}

    def _publish(self, launched: Launched, execution: Execution) -> dict[str, StoredArtifact]:
        """Moves finished outputs to their place, then records them; a kill in between leaves folders to be swept."""
        plan = launched.plan
        home = self._root / ARTIFACTS / plan.node.name
        home.mkdir(parents=True, exist_ok=True)
        new = {}
        for name, output in launched.outputs.items():
            fingerprint = output.fingerprint()
            target = home / f"{name}-{plan.key[:12]}"
            if target.exists():
                target.rename(launched.staging / f"{name}-replaced")
            output.path.rename(target)
            relative = target.relative_to(self._root).as_posix()
            new[name] = NewArtifact(type(output).__name__, fingerprint, relative)
        for folder in (home, home.parent, self._root):
            sync(folder)
        published = self._store.publish(execution, plan.present_inputs(), new, plan.ingredients)
        shutil.rmtree(self._unfinished(plan), ignore_errors=True)
        return published

    def _unfinished(self, plan: Plan) -> Path:
        """What a step leaves for itself should it be interrupted; the key tells that it is the same step."""
        return self._root / UNFINISHED / f"{plan.node.name}-{plan.key[:12]}"

    def _failure(self, plan: Plan, outcome: Outcome, seconds: float) -> Exception:
        """Records how a step ended that made nothing, and says it."""
        refused = outcome.kind == "refusal"
        state: ExecutionState = "refused" if refused else "failed"
        execution = self._execution(plan, state, seconds, outcome.message, outcome.cost)
        if outcome.kind != "disk_full":
            self._store.record(execution, plan.present_inputs(), ingredients=plan.ingredients)
        if refused:
            return Refusal(outcome.message)
        if outcome.kind == "input_error":
            log = self._log(plan.node)
            log.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                log.parent.rmdir()
            return InputError(outcome.message)
        kind = PassingError if outcome.kind == "passing" else StepError
        return kind(self._describe(plan, outcome))

    def _describe(self, plan: Plan, outcome: Outcome) -> str:
        inputs = [f"{name} = {self._root / str(stored.path)}" for name, stored in plan.present_inputs().items()]
        if outcome.kind == "disk_full":
            what = f"there is no space left under {self._root} ({outcome.message})"
            advice = "Make room, then run the same command again: it goes on with this step."
        else:
            what = outcome.message
            advice = "Mend the cause, then run the same command again: it goes on with this step."
        lines = [f"Step {plan.node.name} failed: {what}"]
        lines += [f"  it read: {', '.join(inputs) or 'no artifacts'}", f"  its log: {self._log(plan.node)}", advice]
        return "\n".join(lines)

    def _execution(
        self, plan: Plan, state: ExecutionState, seconds: float, message: str = "", cost: Cost | None = None
    ) -> Execution:
        node = plan.node
        return Execution(self._run, node.name, node.component.name, plan.key, state, seconds, message, cost)

    def _log(self, node: Node) -> Path:
        return self._root / LOGS / str(self._run) / f"{node.name}.log"


def _output_type(node: Node, name: str) -> type[Artifact]:
    kind = node.component.parameters[name].artifact
    assert kind is not None
    return kind


def _put_aside(log: Path) -> None:
    """Numbers the log and the record of an earlier try in the same run: the last one's have no number."""
    if log.exists():
        number = 1 + len([*log.parent.glob(f"{log.stem}.*.log")])
        for place in (log, log.with_suffix("")):
            if place.exists():
                place.rename(place.with_name(f"{log.stem}.{number}{place.suffix}"))


def _check_parameters(plan: Plan, outputs: Mapping[str, Artifact]) -> Outcome:
    """The key was made before the step ran: outside data that changed since must not be published under it."""
    wanted = json.loads(json.dumps(plan.ingredients.parameters))
    for output in outputs.values():
        recorded = output.manifest()["parameters"]
        for name, value in wanted.items():
            if recorded[name] != value:
                return Outcome("input_error", f"{plan.node.name}.{name} changed while it was read; run again")
    return Outcome("done", "")


def _holds(artifact: Artifact, stored: StoredArtifact) -> bool:
    """Whether a directory still holds what was published there."""
    return artifact.is_intact() and artifact.fingerprint() == stored.fingerprint
