"""What a step may use while it runs: a line of progress, and folders for what is no output."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

ProgressSink = Callable[[float, float, str], None]


def _no_progress(done: float, total: float, note: str) -> None:
    """In a notebook nobody draws the line."""


_sink: ProgressSink = _no_progress


def report_progress(done: float, total: float, note: str = "") -> None:
    """Tells the runtime how far a step is: `done` of `total`, in any unit; `note` is a few words for a person.

    A `total` of 0 says that the pace is not known yet, or no longer: the next report begins a new estimate.
    """
    _sink(done, total, note)


def set_progress_sink(sink: ProgressSink) -> None:
    """Where `report_progress` goes from now on in this process."""
    global _sink
    _sink = sink


class Stages:
    """Parts of a step's work, one after the other, as one progress.

    Args:
        works: how much each of them is, in any unit.
        sink: takes the progress of the whole.
    """

    def __init__(self, works: Sequence[float], sink: ProgressSink = report_progress) -> None:
        self._works, self._sink = works, sink

    def sink(self, number: int) -> ProgressSink:
        """What takes the progress of one part, counted from 0, in a unit of its own."""
        before, work, whole = sum(self._works[:number]), self._works[number], sum(self._works)

        def report(done: float, total: float, note: str) -> None:
            if total > 0:
                done, total = before + work * done / total, whole
            self._sink(done, total, note)

        return report


@dataclasses.dataclass(frozen=True)
class Workplace:
    """Folders of a step besides its outputs; None where there is nobody to keep them, as in a notebook.

    Attributes:
        checkpoints: outlives a step that is killed: the same step with the same inputs finds it again. Gone when the
            step is done.
        record: for a person to look at, beside the step's log.
        scratch: for temporary files; gone when the step ends, in whatever way.
    """

    checkpoints: Path | None = None
    record: Path | None = None
    scratch: Path | None = None


_workplace = Workplace()


def workplace() -> Workplace:
    """Where the step that runs in this process may leave what is no output."""
    return _workplace


def set_workplace(place: Workplace) -> None:
    """What `workplace` answers from now on in this process."""
    global _workplace
    _workplace = place
