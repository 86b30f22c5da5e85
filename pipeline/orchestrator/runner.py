"""Runs a pipeline or one of its steps: unchanged steps are cached, and interrupted runs resume."""

import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.artifact import Artifact
from components.dsl.component import A, Handle, Node
from components.dsl.errors import InputError, input_errors
from components.objects.mirror import root_address
from keras_bert.training.cluster import TF_CONFIG, Cluster, find_cluster
from pipeline.machine import ONE_BY_ONE, Machine
from pipeline.orchestrator.chief import chief_session
from pipeline.orchestrator.disk import disk_full_as_input_error
from pipeline.orchestrator.executor import PRELOAD
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.launcher import Launcher, check_node
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.opening import open_store
from pipeline.orchestrator.records import RunState, StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import CODE, Root, locked_root
from pipeline.orchestrator.root_store import RootStore
from pipeline.orchestrator.scheduler import Scheduler, StepResult
from pipeline.orchestrator.single_step import find_inputs, locked_step
from pipeline.orchestrator.source_code import load_cache, save_cache

ALL = Request()


class RunFailedError(Exception):
    """A run that is part of a larger command failed; the message names the step."""


@dataclasses.dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        state: `done`, `failed` after the first step that failed, which ends a run, or `refused` if a step was refused;
            steps that read from a refused one have not run.
        fetch: downloads an artifact, if the root is in object storage and the artifact is not on this machine.
        read_json: reads one JSON file of an artifact without downloading the others.
    """

    run: int
    root: Path
    state: RunState
    steps: tuple[StepResult, ...]
    fetch: Callable[[Artifact], None] = dataclasses.field(default=lambda artifact: None, repr=False, compare=False)
    read_json: Callable[[Artifact, str], Any] = dataclasses.field(
        default=lambda artifact, name: artifact.read_json(name), repr=False, compare=False
    )

    @property
    def message(self) -> str:
        """The reason of a refusal or failure, else empty."""
        return next((step.message for step in self.steps if step.message), "")

    def artifact(self, handle: Handle[A]) -> A:
        """The artifact of an output."""
        artifact = self.step(handle.node.name).outputs[handle.name]
        assert isinstance(artifact, handle.artifact)
        self.fetch(artifact)
        return artifact

    def artifacts(self, kind: type[A]) -> list[A]:
        """All artifacts of a type that the run made or took from the cache, in the order of the steps."""
        outputs = self._outputs(kind)
        for artifact in outputs:
            self.fetch(artifact)
        return outputs

    def json_files(self, kind: type[Artifact], name: str) -> list[Any]:
        """The contents of one JSON file of all artifacts of a type; their other files are not downloaded."""
        return [self.read_json(artifact, name) for artifact in self._outputs(kind)]

    def _outputs(self, kind: type[A]) -> list[A]:
        return [output for step in self.steps for output in step.outputs.values() if isinstance(output, kind)]

    def step(self, name: str) -> StepResult:
        """The result of a node."""
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
    part_of: int | None = None,
    is_whole: bool = True,
    invocation: str | None = None,
) -> RunResult:
    """Runs a pipeline under a root.

    A step that fails ends the run. If a step is refused, the steps that read from it do not run. The result says so.
    The outputs of finished steps stay in the root, so that the same call continues after them.

    Processes that each run one step (`Request.only`) share the root; only one at a time runs the same step, and the
    others then find it done. A process that measures time waits until it is alone on its machine. Under a root in
    object storage, processes of one machine wait for each other's locks in the mirror, and processes of several
    machines for each other's leases.

    The root is created if necessary. `settings` are JSON values to record with the run, `preload` the modules that the
    fork server imports once, before the first step that runs, and `first_party` the top-level packages whose code is
    part of the cache keys. `part_of` is the first run of the series that this run belongs to; the run is complete by
    itself if it `is_whole`, unless it leaves out steps. `invocation` identifies an orchestrator's run, which starts
    each step as a command: steps with the same one are recorded as one run, which ends with its last step.

    Raises:
        InputError: the user's input cannot be used, or steps before the only one are not done. A root that was created
            for this run is removed, unless a step has finished in it or saved a checkpoint.
        StoppedRunError: the observer ended the run and its steps.
        KeyboardInterrupt: SIGINT or SIGTERM ended the run and its steps.
        CodeError: the code of a component cannot be analyzed.
    """
    is_single = request.only is not None
    cluster = _find_chief_cluster(Path(root).expanduser().absolute(), machine, is_single=is_single)
    code = Path(root).expanduser() / CODE
    load_cache(code)
    request.check(pipeline)
    machine.check_programs()
    nodes = request.nodes(pipeline)
    part = Pipeline(pipeline.name, nodes)
    checked = {node.name: check_node(node, first_party) for node in part.nodes}
    observer = observer or Observer()
    observer.begin([node.name for node in nodes])
    options: dict[str, Any] = {"preload": preload, "first_party": first_party}
    with opened_root(root, is_shared=is_single) as (place, store), contextlib.ExitStack() as stack:
        made: dict[str, dict[str, StoredArtifact]] = {}
        if is_single:
            made, key = find_inputs(part, checked, place, store, Launcher(place.path, store, 0, **options))
            stack.enter_context(locked_step(place.path, nodes[0], key, machine, observer.say))
            place.sweep_staging(key)
        else:
            place.sweep(store)
            stack.callback(place.sweep_staging)
        chief = None
        if cluster is not None:
            chief = stack.enter_context(chief_session(place.path, cluster, machine.join_seconds))
            observer.say(f"trainings run on {len(cluster.addresses)} processes (TF_CONFIG), all else on this one")
        save_cache(code)
        if is_single:
            plan = plan_of(nodes if invocation is None else pipeline.nodes)
            run = store.join_run(pipeline.name, settings, plan, invocation)
        else:
            run = store.start_run(pipeline.name, settings, part_of, plan_of(nodes))
        observer.run = run
        launcher = Launcher(place.path, store, run, machine=machine, chief=chief, **options)
        scheduler = Scheduler(pipeline, request, checked, launcher, store, observer, machine=machine, made=made)
        with end_recorded(store, run, observer, place):
            steps = scheduler.run()
        state = state_of(steps)
        if chief is not None and state != "done":
            chief.has_failed = True
        if invocation is not None:
            store.settle_run(run)
        else:
            is_partial = not is_whole or len(nodes) < len(pipeline.nodes)
            store.finish_run(run, "partial" if state == "done" and (is_partial or is_single) else state)
    return RunResult(run, place.path, state, tuple(steps), launcher.fetch, launcher.read_json)


def run_to_end(pipeline: Pipeline, root: Path, **options: Any) -> RunResult:
    """Runs a pipeline as a part of a larger command, with options of `run_pipeline`."""
    result = run_pipeline(pipeline, root, **options)
    if result.state != "done":
        raise RunFailedError(result.message)
    return result


def plan_of(nodes: Sequence[Node]) -> dict[str, list[str]]:
    """The names of nodes, each with the names of the nodes whose outputs it reads."""
    return {node.name: list(dict.fromkeys(handle.node.name for handle in sources_of(node))) for node in nodes}


def _find_chief_cluster(root: Path, machine: Machine, *, is_single: bool) -> Cluster | None:
    """The processes that train together; None if this one trains alone."""
    if is_single and os.environ.get(TF_CONFIG):
        raise InputError(
            f"{TF_CONFIG} must not be set for a single step; run the job instead, got {os.environ[TF_CONFIG]}"
        )
    with input_errors(""):
        cluster = find_cluster()
    if cluster is not None and not cluster.is_chief:
        raise InputError(
            f"TF_CONFIG.task must be the chief for this command, got {cluster.describe(cluster.index)}; workers "
            "join with `keras-bert-edge run`"
        )
    if cluster is not None and root_address(root) is not None:
        raise InputError(
            "--root must be a folder that all processes of TF_CONFIG share, got "
            f"{root_address(root)}; workers join by files under it"
        )
    if cluster is not None and machine.launch_prefix("training"):
        raise InputError(
            "machine.launch must leave out trainings where TF_CONFIG is set, as its processes train together, got "
            f"{list(machine.launch_prefix('training'))}"
        )
    return cluster


@contextlib.contextmanager
def opened_root(root: str | os.PathLike[str], *, is_shared: bool = False) -> Iterator[tuple[Root, RootStore]]:
    """Locks a root and opens its store; SIGTERM is handled like Ctrl-C."""
    with (
        disk_full_as_input_error(root),
        termination_interrupts(),
        locked_root(Path(root), is_shared=is_shared) as place,
    ):
        try:
            store = open_store(place.path, is_shared=is_shared)
        except InputError:
            place.remove()
            raise
        with contextlib.closing(store):
            yield place, store


@contextlib.contextmanager
def end_recorded(store: RootStore, run: int, observer: Observer, place: Root) -> Iterator[None]:
    """Records the state of a run that ends with an exception."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        states: dict[type[BaseException], RunState] = {KeyboardInterrupt: "interrupted", StoppedRunError: "partial"}
        store.finish_run(run, states.get(type(error), "failed"))
        if isinstance(error, KeyboardInterrupt):
            observer.say("Interrupted. The same command goes on: finished steps are kept, trainings have checkpoints.")
        if isinstance(error, InputError):
            place.remove()
        raise


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


def state_of(steps: Sequence[StepResult]) -> RunState:
    """The state of a run whose steps have these results."""
    states = {step.state for step in steps}
    if "failed" in states:
        return "failed"
    return "refused" if "refused" in states else "done"
