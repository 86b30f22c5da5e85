"""What a run of one step finds, and holds, in a root that other processes share."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from components.dsl.component import Node
from components.dsl.errors import InputError
from components.objects.mirror import display_path
from pipeline.machine import Machine
from pipeline.orchestrator.changes import find_changes
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.launcher import CheckedNode, Launcher
from pipeline.orchestrator.locks import machine_locked, step_locked
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.root import Root
from pipeline.orchestrator.root_store import RootStore


def find_inputs(
    part: Pipeline, checked: Mapping[str, CheckedNode], root: Root, store: RootStore, launcher: Launcher
) -> tuple[dict[str, dict[str, StoredArtifact]], str]:
    """The outputs of the steps before the last of a part of a pipeline, which must be done, and the key of the last."""
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
            root.remove()
            raise InputError(
                f"{last.name} needs the steps before it done, but {node.name} is not in {display_path(root.path)}"
                f"{change.rstrip()}; run the step {node.name} first"
            )
        made[node.name] = plan.hit
    return made, launcher.plan(last, checked[last.name], made).key


@contextlib.contextmanager
def locked_step(root: Path, node: Node, key: str, machine: Machine, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of a step, and that of this machine unless a program starts the step on another one."""
    is_alone = node.component.kind == "measurement"
    with step_locked(root, node.name, key, say), contextlib.ExitStack() as stack:
        if not machine.launch_prefix(node.component.kind):
            stack.enter_context(machine_locked(root, node.name, say, is_alone=is_alone))
        yield
