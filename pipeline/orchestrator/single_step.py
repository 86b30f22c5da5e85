"""Runs one step of a pipeline; several processes, also on several machines, may do so in one root at the same time."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.objects.mirror import display_path
from keras_bert.training.cluster import TF_CONFIG
from pipeline.machine import ONE_BY_ONE, Machine
from pipeline.orchestrator.changes import find_changes
from pipeline.orchestrator.executor import PRELOAD
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.launcher import CheckedNode, Launcher, check_node
from pipeline.orchestrator.locks import machine_locked, step_locked
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import CODE, Root
from pipeline.orchestrator.root_store import RootStore
from pipeline.orchestrator.runner import RunResult, end_recorded, opened_root, plan_of, state_of
from pipeline.orchestrator.scheduler import Scheduler
from pipeline.orchestrator.source_code import load_cache, save_cache


def run_step(
    pipeline: Pipeline,
    name: str,
    root: str | os.PathLike[str],
    *,
    invocation: str | None = None,
    machine: Machine = ONE_BY_ONE,
    settings: Mapping[str, Any] | None = None,
    observer: Observer | None = None,
    preload: Sequence[str] = PRELOAD,
    first_party: Sequence[str] = FIRST_PARTY,
) -> RunResult:
    """Runs one step of a pipeline under a root, as `run_pipeline` does, unless it is done.

    Processes that run steps share the root; only one at a time runs the same step, and the others then find it done. A
    process that measures time waits until it is alone on its machine. Under a root in object storage, processes of one
    machine wait for each other's locks in the mirror, and processes of several machines for each other's leases.

    Steps with the same `invocation`, the identifier of an orchestrator's run, are recorded as one run, which ends with
    its last step. Without it the step is a run of its own.

    Raises:
        InputError: the input cannot be used, there is no such step, or a step that it depends on is not done.
        KeyboardInterrupt: SIGINT or SIGTERM ended the step.
        CodeError: the code of a component cannot be analyzed.
    """
    if os.environ.get(TF_CONFIG):
        raise InputError(
            f"{TF_CONFIG} must not be set for a single step; run the job instead, got {os.environ[TF_CONFIG]}"
        )
    request = Request(only=name)
    request.check(pipeline)
    machine.check_programs()
    (node,) = request.nodes(pipeline)
    code = Path(root).expanduser() / CODE
    load_cache(code)
    part = Pipeline(pipeline.name, [node])
    checked = {item.name: check_node(item, first_party) for item in part.nodes}
    observer = observer or Observer()
    observer.begin([name])
    with opened_root(root, is_shared=True) as (place, store):
        made, key = _plan(part, checked, place, store, first_party)
        with step_locked(place.path, node.name, key, observer.say), contextlib.ExitStack() as stack:
            # Another machine runs a step that a program starts.
            if not machine.launch_prefix(node.component.kind):
                is_alone = node.component.kind == "measurement"
                stack.enter_context(machine_locked(place.path, node.name, observer.say, is_alone=is_alone))
            save_cache(code)
            place.sweep_staging(key)
            plan = plan_of([node] if invocation is None else pipeline.nodes)
            run = observer.run = store.join_run(pipeline.name, settings, plan, invocation)
            launcher = Launcher(place.path, store, run, machine=machine, preload=preload, first_party=first_party)
            scheduler = Scheduler(pipeline, request, checked, launcher, store, observer, machine=machine, made=made)
            with end_recorded(store, run, observer, place):
                steps = scheduler.run()
            state = state_of(steps)
            if invocation is not None:
                store.settle_run(run)
            else:
                store.finish_run(run, "partial" if state == "done" else state)
    return RunResult(run, place.path, state, tuple(steps), launcher.fetch, launcher.read_json)


def _plan(
    part: Pipeline, checked: Mapping[str, CheckedNode], place: Root, store: RootStore, first_party: Sequence[str]
) -> tuple[dict[str, dict[str, StoredArtifact]], str]:
    """The outputs of the steps before the last of a part of a pipeline, which must be done, and the key of the last."""
    launcher = Launcher(place.path, store, 0, first_party=first_party)
    made: dict[str, dict[str, StoredArtifact]] = {}
    *before, last = part.nodes
    for node in before:
        plan = launcher.plan(node, checked[node.name], made)
        if plan.hit is None:
            # Why the last run of the step does not count here, as for a step of another version.
            ran = store.last_ran(node.component.name, part.name)
            recorded = None if ran is None else store.ingredients(ran.key)
            changes = [] if recorded is None else find_changes(recorded, plan.ingredients)
            change = f" as it is here: its last run had another {changes[0].kind} {changes[0].name}" if changes else ""
            place.remove()
            raise InputError(
                f"{last.name} needs the steps before it done, but {node.name} is not in {display_path(place.path)}"
                f"{change.rstrip()}; run the step {node.name} first"
            )
        made[node.name] = plan.hit
    return made, launcher.plan(last, checked[last.name], made).key
