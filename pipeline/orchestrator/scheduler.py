"""Schedules the steps of a run."""

import contextlib
import dataclasses
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from components.dsl.artifact import Artifact
from components.dsl.component import Node
from components.dsl.errors import Refusal
from pipeline.machine import Machine, Need
from pipeline.orchestrator.executor import TICK_SECONDS, wait_for_any
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.launcher import (
    CheckedNode,
    LaunchedStep,
    Launcher,
    StepError,
    StepPlan,
    TransientStepError,
    UnstartedStepError,
)
from pipeline.orchestrator.observer import Estimate, Observer, StepState, StoppedRunError
from pipeline.orchestrator.records import Execution, Outcome, StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root_store import RootStore

# The pause before a step is retried; doubled with every retry.
_FIRST_PAUSE_SECONDS = 2.0
# The pause before a step that another machine is running is planned again.
_CLAIM_PAUSE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class StepResult:
    """The result of a node; `worked` is how long the execution that made its outputs took, maybe in an earlier run."""

    name: str
    state: StepState
    seconds: float
    outputs: dict[str, Artifact]
    message: str = ""
    worked: float = 0.0


class _RunningStep(NamedTuple):
    """A running step; closing `context` ends its process."""

    launched: LaunchedStep
    need: Need | None
    start: float
    context: contextlib.ExitStack


class Scheduler:
    """Runs the steps of a pipeline: a step starts after its inputs exist, as soon as the machine has room for it.

    After a step failed, no further step starts; steps that are running finish. After a step was refused, all steps that
    depend on it, directly or indirectly, do not start.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        request: Request,
        checked: Mapping[str, CheckedNode],
        launcher: Launcher,
        store: RootStore,
        observer: Observer,
        *,
        machine: Machine,
        made: Mapping[str, dict[str, StoredArtifact]] = MappingProxyType({}),
    ) -> None:
        self._pipeline, self._request, self._checked = pipeline, request, checked
        self._launcher, self._store, self._observer, self._machine = launcher, store, observer, machine
        self._again = request.again(pipeline)
        self._nodes = request.nodes(pipeline)
        self._waiting = [*self._nodes]
        self._running: list[_RunningStep] = []
        self._plans: dict[str, StepPlan] = {}
        self._made = dict(made)
        self._results: dict[str, StepResult] = {}
        self._tries: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._reasons: dict[str, str] = {}
        self._has_failed = False
        self._is_estimated = False

    def run(self) -> list[StepResult]:
        """Runs the requested steps and returns the result of each node, in the order of the pipeline."""
        try:
            while self._waiting or self._running:
                # Starts all steps that can start; settles cached steps, and steps that can no longer start.
                for node in [*self._waiting]:
                    before = [handle.node.name for handle in sources_of(node)]
                    results = [self._results[name] for name in before if name in self._results]
                    if self._has_failed or any(result.state in ("refused", "skipped") for result in results):
                        self._settle(node, StepResult(node.name, "skipped", 0.0, {}))
                    elif all(name in self._made for name in before):
                        self._start(node)
                if self._waiting and not self._running:
                    time.sleep(TICK_SECONDS)
                children = [running.launched.child for running in self._running]
                outcomes = wait_for_any(children) if children else []
                for running, news in zip([*self._running], outcomes, strict=True):
                    outcome = news or self._launcher.find_lost_worker(running.launched)
                    if outcome is not None:
                        self._running.remove(running)
                        self._finish(running, outcome)
        except StoppedRunError:
            # The running steps will not be resumed, so their checkpoints are deleted.
            for running in self._running:
                running.launched.child.end(grace=0.0)
                self._launcher.discard(running.launched.plan)
            raise
        finally:
            # All children get the signal before the first is waited for, so that they end at the same time.
            for running in self._running:
                running.launched.child.terminate()
            for running in self._running:
                running.context.close()
        return [self._results[node.name] for node in self._nodes]

    def _start(self, node: Node) -> None:
        start = time.monotonic()
        if self._not_before.get(node.name, start) > start:
            return
        plan = self._plans.get(node.name) or self._plan(node)
        if plan.hit is not None:
            outputs = self._launcher.reuse(plan)
            self._settle(node, self._result(plan, "cached", start, outputs), outputs)
            return
        last = self._last_ran(node)
        # A step runs alone if it never ran before, if it measures time, or if it trains on several processes, because
        # these use the ports of `TF_CONFIG`.
        is_alone = node.component.kind == "measurement" or self._launcher.needs_workers(node)
        need = None if is_alone or last is None else last.need
        if not self._machine.has_room(need, [running.need for running in self._running]):
            self._plans[node.name] = plan
            return
        reason = self._launcher.claim(plan)
        if reason is not None:
            # The step is planned again a little later, because another process may have made its result by then.
            self._plans.pop(node.name, None)
            self._not_before[node.name] = time.monotonic() + _CLAIM_PAUSE_SECONDS
            if self._reasons.get(node.name) != reason:
                self._reasons[node.name] = reason
                self._observer.say(f"{node.name}: {reason}")
            return
        if not self._is_estimated:
            self._is_estimated = True
            durations = {waiting.name: self._last_ran(waiting) for waiting in self._waiting}
            self._observer.estimated(Estimate.of({name: run and run.seconds for name, run in durations.items()}))
        self._waiting.remove(node)
        with contextlib.ExitStack() as context:
            record = self._launcher.record_folder(node)
            line = context.enter_context(self._observer.step(node.name, last and last.seconds, record))
            try:
                launched = context.enter_context(self._launcher.launch(plan, line))
            except StepError as error:
                context.close()
                self._fail(node, start, error)
                return
            self._running.append(_RunningStep(launched, need, start, context.pop_all()))

    def _last_ran(self, node: Node) -> Execution | None:
        return self._store.last_ran(node.component.name, self._pipeline.name)

    def _plan(self, node: Node) -> StepPlan:
        plan = self._launcher.plan(node, self._checked[node.name], self._made)
        if plan.hit is None:
            self._request.check_done(self._pipeline, node.name)
        if node.name in self._again:
            return plan._replace(hit=None)
        if plan.note:
            self._observer.say(f"{node.name}: {plan.note}; it runs again")
        return plan

    def _finish(self, running: _RunningStep, outcome: Outcome) -> None:
        plan, start = running.launched.plan, running.start
        try:
            with running.context:
                outputs = self._launcher.publish(running.launched, outcome)
        except (Refusal, StepError, UnstartedStepError) as error:
            name = plan.node.name
            tries = self._tries[name] = self._tries.get(name, 0) + 1
            may_retry = isinstance(error, TransientStepError | UnstartedStepError) and not self._has_failed
            if may_retry and tries <= self._machine.retries:
                seconds = _FIRST_PAUSE_SECONDS * 2 ** (tries - 1)
                self._not_before[name] = time.monotonic() + seconds
                self._waiting.insert(0, plan.node)
                again = f"it is tried again in {seconds:g} s ({tries} of {self._machine.retries})"
                self._observer.say(f"{name}: {outcome.message}; {again}")
                return
            if isinstance(error, UnstartedStepError):
                raise
            self._fail(plan.node, start, error)
        else:
            self._settle(plan.node, self._result(plan, "ran", start, outputs), outputs)

    def _fail(self, node: Node, start: float, error: Exception) -> None:
        state: StepState = "refused" if isinstance(error, Refusal) else "failed"
        self._has_failed = self._has_failed or state == "failed"
        self._settle(node, StepResult(node.name, state, time.monotonic() - start, {}, str(error)))

    def _settle(self, node: Node, result: StepResult, outputs: dict[str, StoredArtifact] | None = None) -> None:
        """Stores the result of a node."""
        if node in self._waiting:
            self._waiting.remove(node)
        self._plans.pop(node.name, None)
        self._results[node.name] = result
        if outputs is not None:
            self._made[node.name] = outputs
        self._observer.finished(node.name, result.state, result.seconds)

    def _result(self, plan: StepPlan, state: StepState, start: float, stored: dict[str, StoredArtifact]) -> StepResult:
        outputs = {name: self._launcher.output(plan.node, name, artifact) for name, artifact in stored.items()}
        execution = self._store.ran_under(plan.key)
        assert execution is not None
        return StepResult(plan.node.name, state, time.monotonic() - start, outputs, worked=execution.seconds)
