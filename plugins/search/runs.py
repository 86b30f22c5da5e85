"""The runs of a search: they belong together, and the time of each step counts once."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.locks import read_holder, write_holder
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult, run_pipeline
from pipeline.settings.schema import Settings


class SearchRuns:
    """Runs the pipelines of a search as parts of its first run, and adds up their time."""

    def __init__(self, settings: Settings, root: Path, kind: str, observer: Observer) -> None:
        self._settings, self._root, self._observer = settings, root, observer
        self._first_run: int | None = None
        self._uncounted: set[str] = set()
        self._seconds: dict[str, float] = {}
        self.folder = root / "searched" / (f"{settings.name}-{kind}" if kind else settings.name)
        """The folder of the search's files."""

    @property
    def spent(self) -> float:
        """Seconds of all steps that count, each once even if it is reused, and of runs before this one."""
        return sum(self._seconds.values())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other searches of this job away, whose steps would be counted twice."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+") as lock:
            if not lock_file(lock):
                raise InputError(
                    f"--root must have no other search for {self._settings.name!r}, got {self._root}: "
                    f"{read_holder(lock)} runs one"
                )
            write_holder(lock, "search")
            yield

    def run(
        self,
        pipeline: Pipeline,
        settings: Settings | None = None,
        *,
        is_whole: bool = False,
        observer: Observer | None = None,
    ) -> RunResult:
        """Runs a pipeline to its end; it is recorded with the settings of a trial, else with those of the job."""
        result = self.start(pipeline, settings, is_whole=is_whole, observer=observer)
        if result.state != "done":
            raise RunFailedError(result.message)
        return result

    def start(
        self,
        pipeline: Pipeline,
        settings: Settings | None = None,
        *,
        is_whole: bool = True,
        observer: Observer | None = None,
    ) -> RunResult:
        """Runs a pipeline as `run`; the result says whether a step failed or refused."""
        of_run: dict[str, Any] = (settings or self._settings).run_options()
        options = {"part_of": self._first_run, "is_whole": is_whole, **of_run}
        result = run_pipeline(pipeline, self._root, observer=observer or self._observer, **options)
        self._first_run = self._first_run or result.run
        self.count(self.costs(result))
        return result

    def exclude(self, pipeline: Pipeline) -> None:
        """Runs a pipeline; its steps, and steps of the same names in later runs, do not count as time of the search."""
        result = self.run(pipeline)
        self._uncounted |= {step.name for step in result.steps}
        for step in result.steps:
            if step.outputs:
                self._seconds.pop(self._output_path(step.outputs), None)

    def costs(self, result: RunResult, names: Collection[str] | None = None) -> dict[str, float]:
        """The path of the first output of each step that counts -> the seconds of the execution that made it."""
        steps = (step for step in result.steps if step.outputs and (names is None or step.name in names))
        return {self._output_path(step.outputs): step.worked for step in steps if step.name not in self._uncounted}

    def count(self, costs: Mapping[str, float]) -> None:
        """Sums the costs of all runs of the search, also of earlier processes; each path is counted once."""
        self._seconds.update(costs)

    def _output_path(self, outputs: Mapping[str, Any]) -> str:
        path: Path = next(iter(outputs.values())).path
        return path.relative_to(self._root.expanduser().absolute()).as_posix()
