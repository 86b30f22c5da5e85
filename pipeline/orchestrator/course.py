"""The course of a run: which step begins when, and what became of each."""

import contextlib
import dataclasses
import time
from collections.abc import Mapping
from typing import NamedTuple

from components.dsl.artifact import Artifact
from components.dsl.component import Node
from components.dsl.errors import Refusal
from pipeline.machine import Machine, Need
from pipeline.orchestrator.executor import TICK_SECONDS, Outcome, wait_for_any
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.launcher import Checked, Launched, Launcher, PassingError, Plan, StepError
from pipeline.orchestrator.observer import Observer, StepState
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.store import Store

# Before a step is tried again, doubled with every try.
_FIRST_PAUSE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What became of one node.

    Attributes:
        seconds: how long it took in this run.
        outputs: its artifacts by name; empty unless it is `cached` or `ran`.
        message: why it failed or was refused, else empty.
        worked: how long it took to make the outputs, in this run or in an earlier one; 0 where there are none.
    """

    name: str
    state: StepState
    seconds: float
    outputs: dict[str, Artifact]
    message: str = ""
    worked: float = 0.0


class _Running(NamedTuple):
    """A step that runs; `context` ends all that belongs to it."""

    launched: Launched
    need: Need | None
    began: float
    context: contextlib.ExitStack


class Course:
    """The steps of one run: each begins after those that it reads from, where the machine has room for it.

    After a step that broke or was refused none begins; those that run beside it come to their end.

    Args:
        pipeline: holds them.
        request: which of them run, in the order of the pipeline, and which again.
        checked: what is known of each, by name.
        launcher: begins and publishes them.
        store: tells what steps took the last time.
        observer: is told how it goes.
        machine: what the run may take.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        request: Request,
        checked: Mapping[str, Checked],
        launcher: Launcher,
        store: Store,
        observer: Observer,
        *,
        machine: Machine,
    ) -> None:
        self._pipeline, self._request, self._checked = pipeline, request, checked
        self._launcher, self._store, self._observer, self._machine = launcher, store, observer, machine
        self._again = request.again(pipeline)
        self._nodes = request.nodes(pipeline)
        self._waiting = [*self._nodes]
        self._running: list[_Running] = []
        self._plans: dict[str, Plan] = {}
        self._made: dict[str, dict[str, StoredArtifact]] = {}
        self._results: dict[str, StepResult] = {}
        self._tries: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._is_broken = False

    def run(self) -> list[StepResult]:
        """Runs them; one result a node, in their order.

        Raises:
            InputError: a step cannot use what the user gave, or one that must be done is not. No step runs on.
        """
        try:
            while self._waiting or self._running:
                self._begin()
                if self._running:
                    self._listen()
                elif self._waiting:
                    time.sleep(TICK_SECONDS)
        finally:
            self._end()
        return [self._results[node.name] for node in self._nodes]

    def _begin(self) -> None:
        """Takes those that wait as far as they come: found done, begun, or passed over after a break."""
        for node in [*self._waiting]:
            if self._is_broken:
                self._settle(node, StepResult(node.name, "skipped", 0.0, {}))
            elif all(handle.node.name in self._made for handle in sources_of(node)):
                self._begin_one(node)

    def _begin_one(self, node: Node) -> None:
        began = time.monotonic()
        if self._not_before.get(node.name, began) > began:
            return
        plan = self._plans.get(node.name) or self._plan(node)
        if plan.hit is not None:
            outputs = self._launcher.reuse(plan)
            self._settle(node, self._result(plan, "cached", began, outputs), outputs)
            return
        need = self._need(node)
        if not self._machine.has_room(need, [each.need for each in self._running]):
            self._plans[node.name] = plan
            return
        self._waiting.remove(node)
        last = self._store.last_ran(node.component.name)
        with contextlib.ExitStack() as context:
            line = context.enter_context(self._observer.step(node.name, last and last.seconds))
            try:
                launched = context.enter_context(self._launcher.launch(plan, line))
            except StepError as error:
                context.close()
                self._break(node, began, error)
                return
            self._running.append(_Running(launched, need, began, context.pop_all()))

    def _plan(self, node: Node) -> Plan:
        plan = self._launcher.plan(node, self._checked[node.name], self._made)
        if plan.hit is None:
            self._request.check_done(self._pipeline, node.name)
        if node.name in self._again:
            return plan._replace(hit=None)
        if plan.note:
            self._observer.say(f"{node.name}: {plan.note}; it runs again")
        return plan

    def _need(self, node: Node) -> Need | None:
        """What the node's component took the last time; None if that is not known, or if it measures time."""
        last = self._store.last_ran(node.component.name)
        if node.component.alone or last is None or last.cost is None:
            return None
        return Need(last.cost.cpu_seconds / max(last.seconds, 1e-3), last.cost.peak_bytes)

    def _listen(self) -> None:
        outcomes = wait_for_any([each.launched.child for each in self._running])
        for running, outcome in zip([*self._running], outcomes, strict=True):
            if outcome is not None:
                self._running.remove(running)
                with running.context:
                    self._finish(running, outcome)

    def _finish(self, running: _Running, outcome: Outcome) -> None:
        plan, began = running.launched.plan, running.began
        node = plan.node
        try:
            outputs = self._launcher.publish(running.launched, outcome)
        except PassingError as error:
            running.context.close()
            if self._is_broken or not self._tries_again(node, outcome):
                self._break(node, began, error)
        except (Refusal, StepError) as error:
            running.context.close()
            self._break(node, began, error)
        else:
            running.context.close()
            self._settle(node, self._result(plan, "ran", began, outputs), outputs)

    def _tries_again(self, node: Node, outcome: Outcome) -> bool:
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

    def _break(self, node: Node, began: float, error: Exception) -> None:
        state: StepState = "refused" if isinstance(error, Refusal) else "failed"
        self._is_broken = True
        self._settle(node, StepResult(node.name, state, time.monotonic() - began, {}, str(error)))

    def _settle(self, node: Node, result: StepResult, outputs: dict[str, StoredArtifact] | None = None) -> None:
        """Takes what became of a node."""
        if node in self._waiting:
            self._waiting.remove(node)
        self._plans.pop(node.name, None)
        self._results[node.name] = result
        if outputs is not None:
            self._made[node.name] = outputs
        self._observer.finished(node.name, result.state, result.seconds)

    def _result(self, plan: Plan, state: StepState, began: float, stored: dict[str, StoredArtifact]) -> StepResult:
        outputs = {name: self._launcher.output(plan.node, name, artifact) for name, artifact in stored.items()}
        made = self._store.ran_under(plan.key)
        assert made is not None
        return StepResult(plan.node.name, state, time.monotonic() - began, outputs, worked=made.seconds)

    def _end(self) -> None:
        """Ends what still runs: all are asked before one is waited for."""
        for running in self._running:
            running.launched.child.ask_to_end()
        for running in self._running:
            running.context.close()
