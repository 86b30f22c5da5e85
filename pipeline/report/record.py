"""Reads a run from the store and from the folders of its root."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from components.artifacts.standard import EdgeModel, Model
from components.dsl.errors import InputError
from components.dsl.paths import path_below
from pipeline.orchestrator.opening import open_store
from pipeline.orchestrator.records import Execution, Run, StoredArtifact
from pipeline.orchestrator.root import LOGS

# The lines at the end of a log that explain why a step failed.
_LINES = 30
# For a page of a root in object storage, models and larger artifacts are not downloaded.
_NOT_PULLED = (Model.__name__, EdgeModel.__name__)
_PULLED_BYTES = 1e7


class RunStep(NamedTuple):
    """One step of a run, `done`, whose outputs were `made` in this run or an earlier one; None without outputs.

    `files` are the user's that it read: parameter -> file -> digest; empty if they were not recorded.
    """

    done: Execution
    made: Execution | None
    inputs: dict[str, StoredArtifact]
    outputs: dict[str, StoredArtifact]
    files: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name of its node."""
        return self.done.node


class RunRecord(NamedTuple):
    """A run."""

    root: Path
    run: Run
    steps: tuple[RunStep, ...]
    missed: Mapping[str, list[str]] = MappingProxyType({})

    def outputs(self, kind: str) -> Iterator[tuple[RunStep, Path]]:
        """The outputs of a type that are still on disk: step and folder."""
        for step in self.steps:
            for stored in step.outputs.values():
                if stored.type == kind and stored.path is not None and (self.root / stored.path).is_dir():
                    yield step, self.root / stored.path

    def log(self, step: RunStep) -> Path:
        """The log of the execution that made the outputs, or failed."""
        execution = step.made or step.done
        return path_below(self.root / LOGS, f"{execution.run}/{execution.node}.log")

    def trained(self, step: RunStep) -> Path:
        """The folder beside the log with the history of a training."""
        return self.log(step).with_suffix("")


def read_record(root: Path, number: int | None = None) -> RunRecord:
    """Reads the run with a number, or the newest one."""
    if not root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {root}")
    with contextlib.closing(open_store(root, create=False)) as store:
        runs = {run.id: run for run in store.runs()}
        if not runs:
            raise InputError(f"--root must be a folder that a run has written to, got {root}: it knows no run")
        chosen = max(runs) if number is None else store.run_of(number).id
        steps = []
        # Of a step that was tried again the last try counts.
        for past in {past.execution.node: past for past in store.past_executions(chosen)}.values():
            done, ingredients = past.execution, store.ingredients(past.execution.key)
            inputs, outputs = store.artifacts_of(past.id, "input"), store.artifacts_of(past.id, "output")
            # Not the newest execution with this key: a later run may have forced the step.
            made = store.maker_of(next(iter(outputs.values())).id).execution if outputs else None
            steps.append(RunStep(done, made, inputs, outputs, {} if ingredients is None else ingredients.files))
            for stored in outputs.values():
                if stored.path is not None and stored.type not in _NOT_PULLED:
                    store.pull(stored, _PULLED_BYTES)
        reached = {step.name for step in steps}
        missed = {name: sources for name, sources in store.plan(chosen).items() if name not in reached}
        return RunRecord(root.absolute(), runs[chosen], tuple(steps), missed)


def find_reads(steps: Sequence[RunStep]) -> dict[str, list[str]]:
    """Step -> the earlier steps whose outputs it read."""
    reads: dict[str, list[str]] = {}
    makers: dict[int, str] = {}
    for step in steps:
        sources = (makers[artifact.id] for artifact in step.inputs.values() if artifact.id in makers)
        reads[step.name] = list(dict.fromkeys(sources))
        makers |= {artifact.id: step.name for artifact in step.outputs.values()}
    return reads


def read_json(file: Path) -> Any:
    """The content of a file; None if it is missing."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def read_end(file: Path) -> str:
    """The last lines of a log; empty if it is missing."""
    if not file.is_file():
        return ""
    return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:])
