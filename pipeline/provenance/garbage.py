"""Garbage collection: finds, measures and removes artifacts and logs that no kept run or pushed version needs."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from components.dsl.paths import has_link
from components.sources.pushed_version import version_exists
from pipeline.orchestrator.history import RunHistory
from pipeline.orchestrator.records import Garbage, Run
from pipeline.orchestrator.root import LOGS
from pipeline.orchestrator.root_store import RootStore
from pipeline.provenance.lineage import lineage_of, pushed_folders

# A refused run is finished, too: its models were trained and measured.
_FINISHED = ("done", "refused")


class Spared(NamedTuple):
    """The numbers of further runs and artifacts to keep."""

    runs: frozenset[int] = frozenset()
    artifacts: frozenset[int] = frozenset()


NOTHING = Spared()


def find_garbage(history: RunHistory, root: Path, keep: int, spared: Spared = NOTHING) -> Garbage:
    """Finds artifacts and logs that neither the newest `keep` runs of a pipeline nor an existing pushed version need.

    All runs of a series count as one. `spared` are runs and artifacts to keep in any case, as those of runs that are
    still running on other machines.
    """
    kept_runs = _kept_runs(history.runs(), keep) | spared.runs
    stored = [published.artifact for published in history.artifacts()]
    needed = set(spared.artifacts)
    for run in kept_runs:
        for past in history.past_executions(run):
            for artifacts in (history.artifacts_of(past.id, "input"), history.artifacts_of(past.id, "output")):
                needed |= {artifact.id for artifact in artifacts.values()}
    for artifact, folder, _ in pushed_folders(root, stored):
        if version_exists(folder):
            needed.add(artifact.id)
            for step in lineage_of(history, artifact).steps.values():
                needed |= {source.id for source in step.inputs.values()}
    paths = [str(artifact.path) for artifact in stored if artifact.id not in needed]
    # The logs of the run that made a model contain the history of its training.
    maker_runs = {history.maker_of(artifact.id).execution.run for artifact in stored if artifact.id in needed}
    logs = [f"{LOGS}/{run.id}" for run in history.runs() if run.id not in kept_runs | maker_runs]
    return Garbage(
        {path: _size(root / path) for path in paths if not has_link(root, root / path)},
        {path: _size(root / path) for path in logs if (root / path).is_dir() and not has_link(root, root / path)},
    )


def remove_garbage(store: RootStore, root: Path, garbage: Garbage) -> None:
    """Removes garbage; after an interruption, the next run sweeps the rest."""
    store.forget(garbage.artifacts)
    for path in (*garbage.artifacts, *garbage.logs):
        shutil.rmtree(root / path, ignore_errors=True)


def _kept_runs(runs: Sequence[Run], keep: int) -> set[int]:
    """The newest finished runs of every pipeline, and all runs after them, because unfinished runs can be resumed.

    A run of an external orchestrator is kept until all its steps have run, as no process runs between two of them.
    """
    kept: set[int] = set()
    finished = {_first_run_of(run) for run in runs if run.state in _FINISHED}
    # A series counts under the name of its first run: its last one may push, under the name of the job.
    pipelines = {run.id: run.pipeline for run in runs}
    counted: dict[str, set[int]] = {}
    for run in runs:
        if run.invocation is not None and run.state == "running":
            kept.add(run.id)
            continue
        first_run = _first_run_of(run)
        newest = counted.setdefault(pipelines[first_run], set())
        if first_run in finished and (first_run in newest or len(newest) < keep):
            newest.add(first_run)
            kept.add(run.id)
        elif first_run not in finished and not newest:
            kept.add(run.id)
    return kept


def _first_run_of(run: Run) -> int:
    return run.id if run.part_of is None else run.part_of


def _size(folder: Path) -> int:
    return sum(place.lstat().st_size for place in folder.rglob("*") if not place.is_dir())
