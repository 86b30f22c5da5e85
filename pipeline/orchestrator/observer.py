"""Who is told of a run while it goes on; the orchestrator knows no screen."""

from collections.abc import Sequence
from typing import Literal, Self

StepState = Literal["cached", "ran", "failed", "refused", "skipped"]


class Watcher:
    """Is told of a running step, as a context that lasts as long as it does; this one does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def progress(self, done: float, total: float, note: str) -> None:
        """The step has reported how far it is."""

    def tick(self) -> None:
        """Some time has passed; comes several times a second."""


class Observer:
    """Is told of a run; this one does nothing."""

    def begin(self, names: Sequence[str]) -> None:
        """A run begins, of the steps with these names, in this order."""

    def step(self, name: str, expected: float | None) -> Watcher:
        """A step is about to run; `expected` are the seconds that it took the last time, None if it never ran."""
        return Watcher()

    def finished(self, name: str, state: StepState, seconds: float) -> None:
        """A step has come to its end, or was found done."""

    def say(self, text: str) -> None:
        """Something is to be known that belongs to no step."""
