"""The chief's side of trainings on several processes: it asks the workers of `TF_CONFIG` to join, and watches them."""

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.errors import InputError, input_errors
from keras_bert.core.folders import write_whole
from keras_bert.training.cluster import Cluster
from pipeline.orchestrator.executor import TICK_SECONDS
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.presence import WORKERS, Presence, Sighting

CHIEF_FILE = "chief.json"
REQUEST_FILE = "request.json"
# The training on the chief fails, too, when a worker is lost, and knows more; it has this long to say so.
_SETTLE_SECONDS = 10.0


class JoinRequest(NamedTuple):
    """A training that all workers run together, with the code, libraries and version of Python that they must share.

    `arguments` are as `encode_argument` makes them; the paths of artifacts are relative to the root.
    """

    name: str
    run: int
    component: Sequence[str]
    arguments: dict[str, Any]
    checkpoints: str
    versions: Mapping[str, Any]
    first_party: Sequence[str]


class Chief:
    """Asks workers to join trainings; its session begins and ends with `chief_session`.

    After a run that `has_failed` the workers end with an error, too.
    """

    def __init__(self, root: Path, cluster: Cluster, join_seconds: float, presence: Presence) -> None:
        self._root, self._cluster, self._join_seconds, self._presence = root, cluster, join_seconds, presence
        self.has_failed = False
        self._request = ""
        self._lost_since: float | None = None
        self._workers: dict[int, Sighting] = {}

    def gather(self, request: JoinRequest, watcher: Watcher) -> None:
        """Waits until all workers have joined a training."""
        with input_errors(""):
            self._cluster.check_port()
        self._request, self._lost_since = uuid.uuid4().hex, None
        write_whole(self._root / WORKERS / REQUEST_FILE, {"number": self._request, "request": request._asdict()})
        numbers = range(1, len(self._cluster.addresses))
        self._workers = {number: Sighting(self._root / WORKERS / f"{number}.json") for number in numbers}
        self._presence.update(request=self._request)
        until = time.monotonic() + self._join_seconds
        while missing := [number for number in numbers if not self._has_joined(number)]:
            if time.monotonic() > until:
                names = ", ".join(map(self._cluster.describe, missing))
                raise InputError(
                    f"TF_CONFIG.cluster must name processes that run, but {names} did not come within "
                    f"{self._join_seconds:g} s (machine.join_seconds); start the same command there, with this root"
                )
            watcher.progress(0, 0, f"waiting for {self._cluster.describe(missing[0])}")
            watcher.tick()
            time.sleep(TICK_SECONDS)

    def find_lost_worker(self) -> str:
        """A worker that left the present training or has ended, in words; empty while all are there."""
        lost = ""
        for number, worker in self._workers.items():
            state, name = worker.look(), self._cluster.describe(number)
            if state.get("request") != self._request or not worker.is_alive:
                lost = lost or f"{name} has ended or cannot be reached"
            elif state["state"] == "failed":
                lost = lost or f"{name} failed: {state['message']}"
        if not lost:
            self._lost_since = None
            return ""
        self._lost_since = self._lost_since or time.monotonic()
        return lost if time.monotonic() - self._lost_since > _SETTLE_SECONDS else ""

    def _has_joined(self, number: int) -> bool:
        """Whether a worker answered the present request; raises InputError if it cannot join."""
        state = self._workers[number].look()
        if state.get("request") != self._request:
            return False
        if state["state"] == "refused":
            raise InputError(f"{self._cluster.describe(number)}: {state['message']}")
        return True


@contextlib.contextmanager
def chief_session(root: Path, cluster: Cluster, join_seconds: float) -> Iterator[Chief]:
    """The session of a chief under a root that it has locked; workers learn how it ended."""
    with input_errors(""):
        cluster.check_port()
    (root / WORKERS).mkdir(exist_ok=True)
    with Presence(root / WORKERS / CHIEF_FILE, session=uuid.uuid4().hex, state="runs", request="") as presence:
        state, chief = "failed", Chief(root, cluster, join_seconds, presence)
        try:
            yield chief
            state = "failed" if chief.has_failed else "done"
        finally:
            # The root is gone where a run that made nothing has removed it.
            with contextlib.suppress(FileNotFoundError):
                presence.update(state=state, ended=time.time())
