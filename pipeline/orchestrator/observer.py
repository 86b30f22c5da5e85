"""Interfaces that receive the progress of a run; the orchestrator itself draws nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

StepState = Literal["cached", "ran", "failed", "refused", "skipped"]


class StoppedRunError(Exception):
    """An observer or a watcher ends its run: running steps end at once, and their checkpoints are deleted."""


class Estimate(NamedTuple):
    """The duration of steps that run one after the other."""

    seconds: float
    measured: tuple[str, ...]
    unmeasured: tuple[str, ...]

    @classmethod
    def of(cls, durations: Mapping[str, float | None]) -> Self:
        """The sum of the durations of steps in seconds; None marks an unknown one."""
        measured = {name: seconds for name, seconds in durations.items() if seconds is not None}
        return cls(sum(measured.values()), tuple(measured), tuple(name for name in durations if name not in measured))


class Watcher:
    """Receives the progress of a step, as a context manager around it; this one ignores it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def progress(self, done: float, total: float, note: str) -> None:
        """The step reported its progress."""

    def tick(self) -> None:
        """Called several times a second."""


class Observer:
    """Receives the progress of a run; this one ignores it.

    `run` is its number, as other processes may start runs in the same root; None until it has one.
    """

    run: int | None = None

    def begin(self, names: Sequence[str]) -> None:
        """A run of these steps begins, in this order."""

    def estimated(self, estimate: Estimate) -> None:
        """The first step that is not cached is about to start; the estimate is of it and all steps after it."""

    def step(self, name: str, expected: float | None, record: Path) -> Watcher:
        """A step starts, which took `expected` seconds last time; None if it never ran.

        In the folder `record` a training writes its history while it runs, see `StepFolders`.
        """
        return Watcher()

    def finished(self, name: str, state: StepState, seconds: float) -> None:
        """A step finished, or its result was cached."""

    def say(self, text: str) -> None:
        """A message that belongs to no running step."""
