"""Predicts what a run would do, and why, without running it."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from components.dsl.component import Node
from pipeline.orchestrator.changes import Change, find_changes
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.launcher import Launcher, StepPlan, check_node
from pipeline.orchestrator.opening import has_store, open_store
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import check_root
from pipeline.orchestrator.root_store import RootStore

PreviewState = Literal["done", "runs", "follows"]


class Preview(NamedTuple):
    """The prediction for a step.

    Attributes:
        state: `done` if it is cached; `runs`; or `follows` if it depends on a step that runs, so that it may be cached
            or not.
        expected: seconds of the last execution of the component for this job; None without an execution, or for a step
            that is done.
    """

    step: str
    state: PreviewState
    why: str = ""
    changes: tuple[Change, ...] = ()
    expected: float | None = None


def preview(
    pipeline: Pipeline, root: Path, request: Request, *, first_party: Sequence[str] = FIRST_PARTY
) -> list[Preview]:
    """Predicts what `run_pipeline` would do with every step."""
    request.check(pipeline)
    nodes = request.nodes(pipeline)
    checked = {node.name: check_node(node, first_party) for node in nodes}
    check_root(root)
    if not has_store(root):
        return [Preview(node.name, "runs", "nothing ran in this root yet") for node in nodes]
    again, made = request.again(pipeline), dict[str, Mapping[str, StoredArtifact]]()
    previews = []
    with contextlib.closing(open_store(root, create=False)) as store:
        launcher = Launcher(root, store, 0, first_party=first_party)
        for node in nodes:
            last = store.last_ran(node.component.name, pipeline.name)
            expected = None if last is None else last.seconds
            sources = dict.fromkeys(handle.node.name for handle in sources_of(node))
            missing = [name for name in sources if name not in made]
            if missing:
                # The inputs are unknown until these steps have run.
                previews.append(Preview(node.name, "follows", f"after {', '.join(missing)}", expected=expected))
                continue
            plan = launcher.plan(node, checked[node.name], made)
            if plan.hit is None:
                request.check_done(pipeline, node.name)
            if plan.hit is None or node.name in again:
                previews.append(_explain(node, plan, store, pipeline.name)._replace(expected=expected))
            else:
                made[node.name] = plan.hit
                previews.append(Preview(node.name, "done"))
    return previews


def _explain(node: Node, plan: StepPlan, store: RootStore, pipeline: str) -> Preview:
    if plan.hit is not None:
        return Preview(node.name, "runs", "requested by --force or --from")
    if plan.note:
        return Preview(node.name, "runs", plan.note)
    last = store.last_of(node.name, pipeline)
    if last is None:
        return Preview(node.name, "runs", "it never ran for this job")
    if last.execution.key == plan.key:
        return Preview(node.name, "runs", f"it {last.execution.state} the last time")
    previous = store.ingredients(last.execution.key)
    if previous is None:
        return Preview(node.name, "runs", "the ingredients of the last execution were not recorded")
    return Preview(node.name, "runs", "", tuple(find_changes(previous, plan.ingredients)))
