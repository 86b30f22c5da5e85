"""What the store holds, as plain records."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

RunState = Literal["running", "done", "refused", "failed", "interrupted"]
ExecutionState = Literal["ran", "cached", "refused", "failed"]
Direction = Literal["input", "output"]


class StoredArtifact(NamedTuple):
    """A published artifact; `path` is relative to the root, None once another one took its place or it was removed."""

    id: int
    type: str
    fingerprint: str
    path: str | None


class NewArtifact(NamedTuple):
    """An artifact about to be published."""

    type: str
    fingerprint: str
    path: str


class Run(NamedTuple):
    """One run of a pipeline, times in seconds since the epoch; `ended` is None while it runs."""

    id: int
    pipeline: str
    state: RunState
    started: float
    ended: float | None


class Cost(NamedTuple):
    """What a step took of the machine.

    Attributes:
        cpu_seconds: of all its processes.
        peak_bytes: the most memory that one of them held.
    """

    cpu_seconds: float
    peak_bytes: int


class Execution(NamedTuple):
    """What became of one node in one run.

    Attributes:
        state: `ran` made new artifacts; `cached` found those of an earlier execution with the same key.
        seconds: how long it took.
        message: why it was refused or failed, else empty.
        cost: None where it is not known.
    """

    run: int
    node: str
    component: str
    key: str
    state: ExecutionState
    seconds: float
    message: str = ""
    cost: Cost | None = None


class PastExecution(NamedTuple):
    """An execution as it is found again, by its id."""

    id: int
    execution: Execution


class Published(NamedTuple):
    """An artifact as `status` shows it: which node made it in which run, and when."""

    node: str
    name: str
    run: int
    ended: float
    artifact: StoredArtifact


class Ingredients(NamedTuple):
    """All that the key of an execution is made of, and what stands behind it.

    Attributes:
        component: module and name.
        inputs: the fingerprint of each input, None where it is absent.
        parameters: their canonical forms.
        code: the digest of all code behind the component.
        libraries: the version of each that may change the result.
        python: its version.
        modules: the digest of each module behind `code`.
        files: of each parameter that stands for data of the user's: file -> digest of its content.
    """

    component: str
    inputs: Mapping[str, str | None]
    parameters: Mapping[str, Any]
    code: str
    libraries: Mapping[str, str]
    python: str
    modules: Mapping[str, str]
    files: Mapping[str, Mapping[str, str]]
