"""Explains why a step ran: the changed ingredients of its cache key since the previous run."""

import dataclasses

from components.dsl.errors import InputError, nearest
from pipeline.orchestrator.changes import Change, find_changes
from pipeline.orchestrator.history import RunHistory
from pipeline.orchestrator.records import Execution, PastExecution


@dataclasses.dataclass(frozen=True)
class Reason:
    """The reason why a step ran or was cached."""

    execution: Execution
    before: Execution | None
    changes: tuple[Change, ...]
    is_known: bool
    causes: dict[str, "Reason"]


def find_reason(history: RunHistory, step: str, run: int | None = None) -> Reason:
    """Explains why a step ran, or did not, in a run."""
    runs = history.runs() if run is None else [history.run_of(run, "--run")]
    for candidate in runs:
        for past in reversed(history.past_executions(candidate.id)):
            if past.execution.node == step:
                return _explain(history, past, candidate.pipeline)
    steps = {execution.node for newest in runs[:1] for execution in history.executions(newest.id)}
    raise InputError(f"STEP must be a step of a run, got {step!r}{nearest(step, sorted(steps))}")


def _explain(history: RunHistory, past: PastExecution, pipeline: str) -> Reason:
    execution = past.execution
    before = history.last_of(execution.node, pipeline, before=execution.run)
    if before is None:
        return Reason(execution, None, (), True, {})
    old, new = history.ingredients(before.execution.key), history.ingredients(past.execution.key)
    same = before.execution.key == execution.key
    if same or old is None or new is None:
        return Reason(execution, before.execution, (), same, {})
    changes = tuple(find_changes(old, new))
    inputs = history.artifacts_of(past.id, "input")
    names = [change.name for change in changes if change.kind == "input" and change.name in inputs]
    steps = history.past_executions(execution.run)
    causes = {}
    for name in names:
        # The step of this run that made or reused the input, if one did.
        makers = (step for step in steps if inputs[name] in history.artifacts_of(step.id, "output").values())
        if (maker := next(makers, None)) is not None:
            causes[name] = _explain(history, maker, pipeline)
    return Reason(execution, before.execution, changes, True, causes)
