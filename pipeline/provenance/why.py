"""Why a step ran: which ingredient of its key is other than in the run before."""

import dataclasses

from components.dsl.errors import InputError, nearest
from pipeline.orchestrator.changes import Change, find_changes
from pipeline.orchestrator.history import History
from pipeline.orchestrator.records import Execution, PastExecution, StoredArtifact


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why one step was as it was.

    Attributes:
        execution: the step in its run.
        before: the same step in an earlier run, None if there is none.
        changes: in which ingredients they differ.
        is_known: whether both have their ingredients recorded.
        causes: of each input that differs, why the step behind it ran.
    """

    execution: Execution
    before: Execution | None
    changes: tuple[Change, ...]
    is_known: bool
    causes: dict[str, "Reason"]


def find_reason(history: History, step: str, run: int | None = None) -> Reason:
    """Why a step ran, or did not, in a run.

    Args:
        history: of a root.
        step: its name.
        run: its number; the newest that has the step without it.

    Raises:
        InputError: there is no such run, or it has no such step.
    """
    runs = history.runs() if run is None else [history.run_of(run, "--run")]
    for each in runs:
        for past in history.past_executions(each.id):
            if past.execution.node == step:
                return _explain(history, past, each.pipeline)
    known = {past.node for each in runs[:1] for past in history.executions(each.id)}
    raise InputError(f"STEP must be a step of a run, got {step!r}{nearest(step, sorted(known))}")


def _explain(history: History, past: PastExecution, pipeline: str) -> Reason:
    execution = past.execution
    before = history.last_of(execution.node, pipeline, before=execution.run)
    if before is None:
        return Reason(execution, None, (), True, {})
    old, new = (history.ingredients(each.execution.key) for each in (before, past))
    same = before.execution.key == execution.key
    if same or old is None or new is None:
        return Reason(execution, before.execution, (), same, {})
    changes = tuple(find_changes(old, new))
    read = history.artifacts_of(past.id, "input")
    changed = {change.name: read[change.name] for change in changes if change.kind == "input" and change.name in read}
    giving = {name: _giver(history, artifact, execution.run) for name, artifact in changed.items()}
    causes = {name: _explain(history, giver, pipeline) for name, giver in giving.items() if giver is not None}
    return Reason(execution, before.execution, changes, True, causes)


def _giver(history: History, artifact: StoredArtifact, run: int) -> PastExecution | None:
    """The step that made an artifact, or found it done, in a run; None for one of an earlier run, as a predecessor."""
    for past in history.past_executions(run):
        if artifact in history.artifacts_of(past.id, "output").values():
            return past
    return None
