"""What a run would do, and why, without doing it."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from components.dsl.component import Node
from pipeline.orchestrator.changes import Change, find_changes
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.launcher import Launcher, Plan, check_node
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.store import DATABASE, Store

PreviewState = Literal["done", "runs", "follows"]


class Preview(NamedTuple):
    """What would become of a step.

    Attributes:
        state: it is `done`; it `runs`; or it `follows` one that runs, and what it reads then is not known yet.
        why: in words.
        changes: since the last time, where it runs for that.
    """

    step: str
    state: PreviewState
    why: str = ""
    changes: tuple[Change, ...] = ()


def preview(
    pipeline: Pipeline, root: Path, request: Request, *, first_party: Sequence[str] = FIRST_PARTY
) -> list[Preview]:
    """What `run_pipeline` would do with each step.

    Raises:
        InputError: something the user gave cannot be used.
        CodeError: the code of a component cannot be followed.
    """
    request.check(pipeline)
    nodes = request.nodes(pipeline)
    checked = {node.name: check_node(node, first_party) for node in nodes}
    if not (root / DATABASE).is_file():
        return [Preview(node.name, "runs", "nothing ran in this root yet") for node in nodes]
    again, made = request.again(pipeline), dict[str, Mapping[str, StoredArtifact]]()
    found = []
    with contextlib.closing(Store(root)) as store:
        launcher = Launcher(root, store, 0, pipeline.name, first_party=first_party)
        for node in nodes:
            missing = [name for name in dict.fromkeys(each.node.name for each in sources_of(node)) if name not in made]
            if missing:
                # What they read may be other: nobody knows whether it is done.
                found.append(Preview(node.name, "follows", f"after {', '.join(missing)}"))
                continue
            plan = launcher.plan(node, checked[node.name], made)
            if plan.hit is None:
                request.check_done(pipeline, node.name)
            if plan.hit is None or node.name in again:
                found.append(_explain(node, plan, store, pipeline.name))
            else:
                made[node.name] = plan.hit
                found.append(Preview(node.name, "done"))
    return found


def _explain(node: Node, plan: Plan, store: Store, pipeline: str) -> Preview:
    if plan.hit is not None:
        return Preview(node.name, "runs", "asked for")
    if plan.note:
        return Preview(node.name, "runs", plan.note)
    last = store.last_of(node.name, pipeline)
    if last is None:
        return Preview(node.name, "runs", "it never ran here")
    if last.execution.key == plan.key:
        return Preview(node.name, "runs", f"it {last.execution.state} the last time")
    before = store.ingredients(last.execution.key)
    if before is None:
        return Preview(node.name, "runs", "of the last time it was not recorded what it was made of")
    return Preview(node.name, "runs", "", tuple(find_changes(before, plan.ingredients)))
