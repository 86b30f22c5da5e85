"""The records of the metadata store, and the outcome of a step's process."""

import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from components.dsl.errors import InputError
from components.dsl.paths import leads_out

if TYPE_CHECKING:
    from pipeline.machine import Need

ARTIFACTS = "artifacts"

RunState = Literal["running", "done", "partial", "refused", "failed", "interrupted"]
ExecutionState = Literal["ran", "cached", "refused", "failed"]
Direction = Literal["input", "output"]


class StoredArtifact(NamedTuple):
    """A published artifact; `path` is relative to the root, None after it was replaced or removed."""

    id: int
    type: str
    fingerprint: str
    path: str | None


def check_artifact_path(path: str | None) -> None:
    """Checks the path of an artifact in a root's metadata, which may come from another user."""
    if path is not None and (leads_out(path) or path.count("/") != 2 or not path.startswith(f"{ARTIFACTS}/")):
        raise InputError(
            f"root must keep its artifacts in {ARTIFACTS}/STEP/NAME, got {path!r} in its metadata; use another root"
        )


class NewArtifact(NamedTuple):
    """An artifact that is about to be published; `path` is relative to the root."""

    type: str
    fingerprint: str
    path: str


class Run(NamedTuple):
    """A run of a pipeline; times in seconds since the epoch.

    Attributes:
        state: `partial` is a run without errors that skipped steps, or that later runs of its series complete.
        part_of: the first run of the series that the run belongs to; None for the first run itself and for single runs.
        invocation: the identifier of a run by another orchestrator, which starts each step as a command; else None.
    """

    id: int
    pipeline: str
    state: RunState
    started: float
    ended: float | None
    part_of: int | None = None
    invocation: str | None = None


class Cost(NamedTuple):
    """The resources that a step used."""

    cpu_seconds: float
    peak_bytes: int


class Execution(NamedTuple):
    """The execution of a node in a run: `ran` made new artifacts, `cached` reused those of one with the same key."""

    run: int
    node: str
    component: str
    key: str
    state: ExecutionState
    seconds: float
    message: str = ""
    cost: Cost | None = None

    @property
    def need(self) -> "Need | None":
        """The resources that another execution is expected to need; None if they are unknown."""
        from pipeline.machine import Need

        cost = self.cost
        return None if cost is None else Need(cost.cpu_seconds / max(self.seconds, 1e-3), cost.peak_bytes)


class PastExecution(NamedTuple):
    """A recorded execution with its id."""

    id: int
    execution: Execution


class Published(NamedTuple):
    """An artifact with the node and run that made it, and its time."""

    node: str
    name: str
    run: int
    ended: float
    artifact: StoredArtifact


class Ingredients(NamedTuple):
    """The ingredients of an execution's cache key, and the details behind its digests."""

    component: str
    inputs: Mapping[str, str | None]
    parameters: Mapping[str, Any]
    code: str
    libraries: Mapping[str, str]
    python: str
    modules: Mapping[str, str]
    files: Mapping[str, Mapping[str, str]]


class Garbage(NamedTuple):
    """Artifacts and logs that can be removed, by their names in the root, each with its bytes."""

    artifacts: dict[str, int]
    logs: dict[str, int]

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return sum(self.artifacts.values()) + sum(self.logs.values())


OutcomeKind = Literal["done", "input_error", "refusal", "disk_full", "transient", "crash", "unstarted"]

# Signals from outside of the process: memory ran out, a scheduler, a closed terminal.
_EXTERNAL_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)


class Outcome(NamedTuple):
    """The outcome of a step.

    Attributes:
        kind: `transient` is a crash that a retry may avoid: the process was killed from outside, or lost a connection.
            `unstarted` says that the program that starts the step has failed.
        message: one line; empty if the step is done.
    """

    kind: OutcomeKind
    message: str
    cost: Cost | None = None


def outcome_of_exit(code: int | None) -> Outcome:
    """The outcome of a process that ended without reporting one.

    Its exit code is negative for the number of a signal, as `multiprocessing` and `subprocess` return it.
    """
    if code is None or code >= 0:
        return Outcome("crash", f"ended with exit code {code} before it was done")
    number = signal.Signals(-code)
    hint = "; the system may have run out of memory" if number is signal.SIGKILL else ""
    return Outcome("transient" if number in _EXTERNAL_SIGNALS else "crash", f"was killed by {number.name}{hint}")
