"""What the store and the disk know of one run."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from pipeline.orchestrator.records import Execution, Run, StoredArtifact
from pipeline.orchestrator.root import LOGS
from pipeline.orchestrator.store import Store

# Of a log that tells why a step failed.
_LINES = 30


class Step(NamedTuple):
    """One step of a run.

    Attributes:
        done: what became of it.
        made: the execution that made its outputs, of this run or an earlier one; None where there are none.
        inputs: what it read, by name.
        outputs: what it made or found, by name.
        files: what it read of the user's: parameter -> file -> digest; empty where that was not recorded.
    """

    done: Execution
    made: Execution | None
    inputs: dict[str, StoredArtifact]
    outputs: dict[str, StoredArtifact]
    files: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    @property
    def name(self) -> str:
        """What the run calls it."""
        return self.done.node


class Record(NamedTuple):
    """A run.

    Attributes:
        root: the root, absolute.
        run: when it was, and how it ended.
        steps: those that it came to, in their order.
        model: where this run did not come to its end, the number of the newest earlier run of the same pipeline that
            did, and that had all steps which this one came to; None where there is none.
        missed: the steps of that one that this one did not reach, each with the steps that it read from.
    """

    root: Path
    run: Run
    steps: tuple[Step, ...]
    model: int | None = None
    missed: Mapping[str, list[str]] = MappingProxyType({})

    def outputs(self, kind: str) -> Iterator[tuple[Step, Path]]:
        """The artifacts of a type that are still on disk, each with the step that it is an output of."""
        for step in self.steps:
            for stored in step.outputs.values():
                if stored.type == kind and stored.path is not None and (self.root / stored.path).is_dir():
                    yield step, self.root / stored.path

    def log(self, step: Step) -> Path:
        """The log of the execution that made the outputs, or failed."""
        told = step.made or step.done
        return self.root / LOGS / str(told.run) / f"{told.node}.log"

    def trained(self, step: Step) -> Path:
        """The folder beside that log that holds the record of a training."""
        return self.log(step).with_suffix("")


def newest_run(root: Path) -> int | None:
    """The number of the newest run, None where there is none or no store.

    Raises:
        InputError: the store cannot be used.
    """
    try:
        store = Store(root, create=False)
    except InputError:
        return None
    with contextlib.closing(store):
        return next((run.id for run in store.runs()), None)


def read_record(root: Path, number: int | None = None) -> Record:
    """The run of a number, or the newest one.

    Raises:
        InputError: the root is none, or has no such run.
    """
    if not root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {root}")
    with contextlib.closing(Store(root, create=False)) as store:
        runs = {run.id: run for run in store.runs()}
        if not runs:
            raise InputError(f"--root must be a folder that a run has written to, got {root}: it knows no run")
        chosen = max(runs) if number is None else store.run_of(number).id
        record = Record(root.absolute(), runs[chosen], _read_steps(store, chosen))
        if record.run.state == "done":
            return record
        reached = {step.name for step in record.steps}
        for model in range(chosen - 1, 0, -1):
            if model in runs and (runs[model].pipeline, runs[model].state) == (record.run.pipeline, "done"):
                steps = _read_steps(store, model)
                # Else it was of other settings, and tells nothing of what was to come here.
                if reached <= {step.name for step in steps}:
                    missed = {name: own for name, own in reads_of(steps).items() if name not in reached}
                    return record._replace(model=model, missed=missed)
        return record


def _read_steps(store: Store, run: int) -> tuple[Step, ...]:
    return tuple(
        Step(
            past.execution,
            store.ran_under(past.execution.key) if past.execution.state in ("ran", "cached") else None,
            store.artifacts_of(past.id, "input"),
            store.artifacts_of(past.id, "output"),
            _files(store, past.execution.key),
        )
        for past in store.past_executions(run)
    )


def _files(store: Store, key: str) -> Mapping[str, Mapping[str, str]]:
    made_of = store.ingredients(key)
    return {} if made_of is None else made_of.files


def reads_of(steps: Sequence[Step]) -> dict[str, list[str]]:
    """Step -> those before it that made what it read."""
    reads: dict[str, list[str]] = {}
    makers: dict[int, str] = {}
    for step in steps:
        reads[step.name] = list(dict.fromkeys(makers[own.id] for own in step.inputs.values() if own.id in makers))
        makers |= {own.id: step.name for own in step.outputs.values()}
    return reads


def read_json(file: Path) -> Any:
    """What a file says; None where there is none, as in an artifact of an older release."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def read_end(file: Path) -> str:
    """The last lines of a log; empty where there is none."""
    if not file.is_file():
        return ""
    return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:])
