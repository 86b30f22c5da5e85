"""The side of a worker that is not the chief: it waits for the chief's trainings under the root, and joins them."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from components.dsl.component import Role, find_component
from components.dsl.errors import InputError, input_errors
from components.dsl.paths import path_below
from components.dsl.step_folders import StepFolders
from keras_bert.training.cluster import Cluster
from pipeline.orchestrator.arguments import decode_argument, move_artifacts
from pipeline.orchestrator.chief import CHIEF_FILE, REQUEST_FILE, JoinRequest
from pipeline.orchestrator.executor import TICK_SECONDS, ForkedChild, wait_for_any
from pipeline.orchestrator.launched_process import find_difference
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.presence import WORKERS, Presence, Sighting
from pipeline.orchestrator.records import Outcome
from pipeline.orchestrator.root import CODE, LOGS
from pipeline.orchestrator.source_code import load_cache


def join_trainings(root: Path, cluster: Cluster, join_seconds: float, say: Callable[[str], None]) -> bool:
    """Joins the trainings of a chief until its run ends; returns whether it ended well."""
    with input_errors(""):
        cluster.check_port()
    return _Worker(root.expanduser().absolute(), cluster, join_seconds, say).run()


class _Worker:
    """A worker of a run; for the arguments see `join_trainings`."""

    def __init__(self, root: Path, cluster: Cluster, join_seconds: float, say: Callable[[str], None]) -> None:
        self._root, self._cluster, self._join_seconds, self._say = root, cluster, join_seconds, say
        self._start = time.time()
        self._chief = Sighting(root / WORKERS / CHIEF_FILE)
        self._handled = ""

    def run(self) -> bool:
        me, chief = self._cluster.describe(self._cluster.index), self._cluster.describe(0)
        self._say(f"{me} waits for the trainings of {chief} under {self._root}")
        self._wait(lambda: (self._root / WORKERS).is_dir())
        with Presence(self._root / WORKERS / f"{self._cluster.index}.json", request="", state="waits") as presence:
            while True:
                self._wait(lambda: self._has_ended() or self._new_request() is not None)
                if self._has_ended():
                    state = self._chief.state["state"]
                    self._say(f"the run of {chief} has ended: {state}")
                    return bool(state == "done")
                self._join(presence)

    def _wait(self, is_over: Callable[[], bool]) -> None:
        last_sign = time.monotonic()
        while not is_over():
            self._chief.look()
            if self._chief.is_alive and self._chief.state["state"] == "runs":
                last_sign = time.monotonic()
            if time.monotonic() - last_sign > self._join_seconds:
                raise InputError(
                    f"TF_CONFIG.cluster must name processes that run, but {self._cluster.describe(0)} gave no sign "
                    f"under {self._root} for {self._join_seconds:g} s (machine.join_seconds); start the same command "
                    "there"
                )
            time.sleep(TICK_SECONDS)

    def _has_ended(self) -> bool:
        """Whether the run has ended that was alive since this process started."""
        state = self._chief.look()
        return state.get("state") in ("done", "failed") and (self._chief.is_alive or state["ended"] >= self._start)

    def _new_request(self) -> JoinRequest | None:
        """The request that the chief waits for, if it is a new one and readable."""
        number = self._chief.look().get("request", "")
        if not self._chief.is_alive or number in ("", self._handled):
            return None
        try:
            content = json.loads((self._root / WORKERS / REQUEST_FILE).read_text())
        except (OSError, ValueError):
            return None  # being written
        return JoinRequest(**content["request"]) if content["number"] == number else None

    def _join(self, presence: Presence) -> None:
        number, request = self._chief.state["request"], self._new_request()
        if request is None:
            return
        self._handled = number
        try:
            with input_errors(""):
                self._cluster.check_port()
            load_cache(self._root / CODE)
            difference = find_difference(find_component(*request.component), request.versions, request.first_party)
            if difference:
                raise InputError(
                    f"{request.name} must have the versions that the chief has, got {difference}; install the same "
                    "wheel"
                )
        except InputError as error:
            presence.update(request=number, state="refused", message=str(error))
            return
        self._say(f"{request.name}: trains with {len(self._cluster.addresses)} processes")
        presence.update(request=number, state="runs", message="")
        outcome = self._train(request, number)
        presence.update(state="done" if outcome.kind == "done" else "failed", message=outcome.message)
        self._say(f"{request.name}: {outcome.message or 'done'}")

    def _train(self, request: JoinRequest, number: str) -> Outcome:
        """Runs a training to its end, or until the chief has given it up; only the chief's results are kept."""
        log = path_below(self._root / LOGS, f"{request.run}/{request.name}.worker-{self._cluster.index}.log")
        with tempfile.TemporaryDirectory(prefix="keras-bert-edge-") as folder:
            component = find_component(*request.component)
            outputs = component.of_role(Role.OUTPUT)
            arguments: dict[str, Any] = move_artifacts(
                {name: decode_argument(value) for name, value in request.arguments.items()},
                lambda path: path_below(Path(folder) if path.parts[0] in outputs else self._root, path.as_posix()),
            )
            folders = StepFolders(path_below(self._root, request.checkpoints), None, Path(folder, ".scratch"))
            with ForkedChild(component, arguments, log, Watcher(), folders=folders) as child:
                while True:
                    (outcome,) = wait_for_any([child])
                    if outcome is not None:
                        return outcome
                    state = self._chief.look()
                    if state.get("request") != number or not self._chief.is_alive or self._has_ended():
                        child.end(grace=0.0)
                        # A chief that published the result may be faster here.
                        has_published = state.get("state") == "done" and state.get("request") == number
                        message = (
                            "" if has_published else "ended with the chief's, which has its result, or begins again"
                        )
                        return Outcome("done" if has_published else "transient", message)
