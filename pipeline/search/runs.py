"""The runs of a search: they belong together, and the time of each step counts once."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult, run_pipeline
from pipeline.settings.schema import Settings


def seconds_of_minutes(minutes: float) -> float:
    """The value of `--minutes` in seconds.

    Raises:
        InputError: it is not positive and finite.
    """
    if not 0 < minutes < float("inf"):
        raise InputError(f"--minutes must be positive and finite, got {minutes:g}")
    return 60 * minutes


class SearchRuns:
    """Runs the pipelines of a search as parts of its first run, and adds up their time.

    Args:
        settings: the job.
        root: the root.
        observer: receives the progress, where a run has no observer of its own.
    """

    def __init__(self, settings: Settings, root: Path, observer: Observer) -> None:
        self._settings, self._root, self._observer = settings, root, observer
        self._first_run: int | None = None
        self._uncounted: set[str] = set()
        self._seconds: dict[str, float] = {}

    @property
    def spent(self) -> float:
        """Seconds of all steps that count, each once even if it is reused, and of runs before this one."""
        return sum(self._seconds.values())

    def run(self, pipeline: Pipeline, *, is_whole: bool = False, observer: Observer | None = None) -> RunResult:
        """Runs a pipeline to its end.

        Args:
            pipeline: the pipeline.
            is_whole: whether this run completes the search.
            observer: receives the progress of this run.

        Raises:
            InputError: the user's input cannot be used.
            RunFailedError: a step failed or refused.
        """
        result = self.start(pipeline, is_whole=is_whole, observer=observer)
        if result.state != "done":
            raise RunFailedError(result.message)
        return result

    def start(self, pipeline: Pipeline, *, is_whole: bool = True, observer: Observer | None = None) -> RunResult:
        """Runs a pipeline; the result says whether a step failed or refused."""
        options: dict[str, Any] = {"part_of": self._first_run, "is_whole": is_whole, **self._settings.run_options()}
        result = run_pipeline(pipeline, self._root, observer=observer or self._observer, **options)
        self._first_run = self._first_run or result.run
        self.count(self.costs(result))
        return result

    def exclude(self, result: RunResult) -> None:
        """Leaves the steps of a run, and those of the same names in later runs, out of the time."""
        self._uncounted |= {step.name for step in result.steps}
        for step in result.steps:
            if step.outputs:
                self._seconds.pop(self._place(step.outputs), None)

    def costs(self, result: RunResult, names: Collection[str] | None = None) -> dict[str, float]:
        """The place of the first output of each step that counts -> the seconds of the execution that made it.

        Args:
            result: the result of a run.
            names: the names of the steps; None for all.
        """
        steps = (step for step in result.steps if step.outputs and (names is None or step.name in names))
        return {self._place(step.outputs): step.worked for step in steps if step.name not in self._uncounted}

    def count(self, costs: Mapping[str, float]) -> None:
        """Counts costs, also of earlier processes; those of a place that is known are counted already."""
        self._seconds.update(costs)

    def _place(self, outputs: Mapping[str, Any]) -> str:
        path: Path = next(iter(outputs.values())).path
        return path.relative_to(self._root.expanduser().absolute()).as_posix()
