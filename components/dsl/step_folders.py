"""Progress reports of a running step, and its folders besides the outputs."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

ProgressSink = Callable[[float, float, str], None]


def _no_progress(done: float, total: float, note: str) -> None:
    """Ignores progress, as in a notebook."""


_sink: ProgressSink = _no_progress


def report_progress(done: float, total: float, note: str = "") -> None:
    """Reports the progress of a step to the runtime: `done` of `total`, in any unit, with a short note.

    With `total` 0 the pace is unknown, and the next report starts a new estimate.
    """
    _sink(done, total, note)


def set_progress_sink(sink: ProgressSink) -> None:
    """Sets the function that `report_progress` calls from now on in this process."""
    global _sink
    _sink = sink


class ProgressParts:
    """Combines the progress of consecutive parts of a step, from the amount of work of each, in any unit."""

    def __init__(self, works: Sequence[float], sink: ProgressSink = report_progress) -> None:
        self._works, self._sink = works, sink

    def sink(self, number: int) -> ProgressSink:
        """A sink for the progress of one part, counted from 0; the part may report in another unit."""
        before, work, whole = sum(self._works[:number]), self._works[number], sum(self._works)

        def report(done: float, total: float, note: str) -> None:
            if total > 0:
                done, total = before + work * done / total, whole
            self._sink(done, total, note)

        return report


@dataclasses.dataclass(frozen=True)
class StepFolders:
    """Folders of a step besides its outputs; None outside of a run, as in a notebook.

    Attributes:
        checkpoints: kept if the step is killed, and given again to the same step with the same inputs. It is deleted
            when the step is done.
        record: files for people, next to the step's log.
        scratch: temporary files; the folder is deleted when the step ends, even with an error.
    """

    checkpoints: Path | None = None
    record: Path | None = None
    scratch: Path | None = None


_step_folders = StepFolders()


def step_folders() -> StepFolders:
    """The folders of the step that runs in this process."""
    return _step_folders


def set_step_folders(folders: StepFolders) -> None:
    """Sets the folders that `step_folders` returns from now on in this process."""
    global _step_folders
    _step_folders = folders
