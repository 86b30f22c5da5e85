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
from pipeline.orchestrator.estimate import add_durations
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
from pipeline.orchestrator.observer import Observer, StepState, StoppedRunError
from pipeline.orchestrator.outcome import Outcome
from pipeline.orchestrator.records import Execution, StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.store import Store

# The pause before a step is retried; doubled with every retry.
_FIRST_PAUSE_SECONDS = 2.0
# The pause before a step that another machine is running is planned again.
_CLAIM_PAUSE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class StepResult:
    """The result of a node.

    Attributes:
        seconds: duration in this run.
        outputs: the artifacts by name; empty unless the state is `cached` or `ran`.
        message: the reason of a failure or refusal, else empty.
        worked: duration of the execution that made the outputs, in this or an earlier run; 0 without outputs.
    """

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

    After a step failed, no further step starts; steps that are running finish. After a step was refused, the steps that
    read from it, or from one that does, do not start.

    Args:
        pipeline: the pipeline.
        request: the requested steps.
        checked: the checked nodes by name.
        launcher: launches steps and publishes their outputs.
        store: holds the costs of earlier executions.
        observer: receives the progress.
        machine: the resources that the run may use.
        made: the outputs of steps outside of the request that its steps read.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        request: Request,
        checked: Mapping[str, CheckedNode],
        launcher: Launcher,
        store: Store,
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
        """Runs the requested steps and returns a result a node, in the order of the pipeline.

        Raises:
            InputError: a step cannot use the user's input, or a step that must be cached is not. All steps end.
            StoppedRunError: the observer ends the run.
        """
        try:
            while self._waiting or self._running:
                self._start_waiting()
                if self._running:
                    self._receive_outcomes()
                elif self._waiting:
                    time.sleep(TICK_SECONDS)
        except StoppedRunError:
            self._discard_running()
            raise
        finally:
            self._end_running()
        return [self._results[node.name] for node in self._nodes]

    def _start_waiting(self) -> None:
        """Starts all waiting steps that can start; settles cached steps, and those that never will."""
        for node in [*self._waiting]:
            if self._has_failed or self._is_blocked(node):
                self._settle(node, StepResult(node.name, "skipped", 0.0, {}))
            elif all(handle.node.name in self._made for handle in sources_of(node)):
                self._start(node)

    def _is_blocked(self, node: Node) -> bool:
        """Whether a step that the node reads from was refused, or skipped for such a one."""
        results = (self._results.get(handle.node.name) for handle in sources_of(node))
        return any(result is not None and result.state in ("refused", "skipped") for result in results)

    def _start(self, node: Node) -> None:
        start = time.monotonic()
        if self._not_before.get(node.name, start) > start:
            return
        plan = self._plans.get(node.name) or self._plan(node)
        if plan.hit is not None:
            outputs = self._launcher.reuse(plan)
            self._settle(node, self._result(plan, "cached", start, outputs), outputs)
            return
        need = self._need(node)
        if not self._machine.has_room(need, [running.need for running in self._running]):
            self._plans[node.name] = plan
            return
        reason = self._launcher.claim(plan)
        if reason is not None:
            self._wait_for(node, reason)
            return
        if not self._is_estimated:
            self._is_estimated = True
            self._observer.estimated(add_durations(self._last_durations()))
        self._waiting.remove(node)
        last = self._last_ran(node)
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

    def _wait_for(self, node: Node, reason: str) -> None:
        """Plans a step again a little later: then its result may be there."""
        self._plans.pop(node.name, None)
        self._not_before[node.name] = time.monotonic() + _CLAIM_PAUSE_SECONDS
        if self._reasons.get(node.name) != reason:
            self._reasons[node.name] = reason
            self._observer.say(f"{node.name}: {reason}")

    def _last_durations(self) -> dict[str, float | None]:
        last = {node.name: self._last_ran(node) for node in self._waiting}
        return {name: None if execution is None else execution.seconds for name, execution in last.items()}

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

    def _need(self, node: Node) -> Need | None:
        """The resources that the component used last time; None if unknown, or if it must run alone.

        Steps that measure time run alone, and trainings on several processes, which share the ports of `TF_CONFIG`.
        """
        last = self._last_ran(node)
        must_run_alone = node.component.kind == "measurement" or self._launcher.needs_workers(node)
        if must_run_alone or last is None or last.cost is None:
            return None
        return Need(last.cost.cpu_seconds / max(last.seconds, 1e-3), last.cost.peak_bytes)

    def _receive_outcomes(self) -> None:
        outcomes = wait_for_any([running.launched.child for running in self._running])
        for running, news in zip([*self._running], outcomes, strict=True):
            outcome = news or self._launcher.find_lost_worker(running.launched)
            if outcome is not None:
                self._running.remove(running)
                with running.context:
                    self._finish(running, outcome)

    def _finish(self, running: _RunningStep, outcome: Outcome) -> None:
        plan, start = running.launched.plan, running.start
        node = plan.node
        try:
            outputs = self._launcher.publish(running.launched, outcome)
        except (TransientStepError, UnstartedStepError) as error:
            running.context.close()
            if not self._has_failed and self._retry(node, outcome):
                return
            if isinstance(error, UnstartedStepError):
                raise
            self._fail(node, start, error)
        except (Refusal, StepError) as error:
            running.context.close()
            self._fail(node, start, error)
        else:
            running.context.close()
            self._settle(node, self._result(plan, "ran", start, outputs), outputs)

    def _retry(self, node: Node, outcome: Outcome) -> bool:
        """Schedules a retry; returns False if no retries are left."""
        tries = self._tries[node.name] = self._tries.get(node.name, 0) + 1
        if tries > self._machine.retries:
            return False
        seconds = _FIRST_PAUSE_SECONDS * 2 ** (tries - 1)
        self._not_before[node.name] = time.monotonic() + seconds
        self._waiting.insert(0, node)
        self._observer.say(
            f"{node.name}: {outcome.message}; it is tried again in {seconds:g} s ({tries} of {self._machine.retries})"
        )
        return True

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

    def _discard_running(self) -> None:
        """Ends all running steps at once; none of them will go on."""
        for running in self._running:
            running.launched.child.end(grace=0.0)
            self._launcher.discard(running.launched.plan)

    def _end_running(self) -> None:
        """Ends all running steps; all receive the signal before the first is waited for."""
        for running in self._running:
            running.launched.child.terminate()
        for running in self._running:
            running.context.close()
