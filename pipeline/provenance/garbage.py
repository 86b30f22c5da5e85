"""What no run needs any more: found, weighed, and removed."""

import shutil
from pathlib import Path
from typing import NamedTuple

from pipeline.orchestrator.history import History
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.root import LOGS
from pipeline.orchestrator.store import Store
from pipeline.provenance.lineage import behind, pushed_folders


class Garbage(NamedTuple):
    """What may go.

    Attributes:
        artifacts: their paths, relative to the root -> bytes.
        logs: of runs, likewise.
    """

    artifacts: dict[str, int]
    logs: dict[str, int]

    @property
    def size(self) -> int:
        """All bytes."""
        return sum(self.artifacts.values()) + sum(self.logs.values())


def find_garbage(history: History, root: Path, keep: int) -> Garbage:
    """What neither the newest runs nor a version that is still pushed need.

    Args:
        history: of the root.
        root: the folder.
        keep: of each pipeline so many of the newest runs, at least 1.
    """
    kept_runs: set[int] = set()
    counts: dict[str, int] = {}
    for run in history.runs():
        counts[run.pipeline] = counts.get(run.pipeline, 0) + 1
        if counts[run.pipeline] <= keep:
            kept_runs.add(run.id)
    stored = [published.artifact for published in history.artifacts()]
    needed = _of_runs(history, kept_runs) | _of_versions(history, root, stored)
    artifacts = {str(each.path): _size(root / str(each.path)) for each in stored if each.id not in needed}
    # The history of a training lies in the logs of the run that made the model.
    speaking = kept_runs | {history.maker_of(each.id).execution.run for each in stored if each.id in needed}
    logs = {f"{LOGS}/{run.id}": root / LOGS / str(run.id) for run in history.runs() if run.id not in speaking}
    return Garbage(artifacts, {name: _size(folder) for name, folder in logs.items() if folder.is_dir()})


def remove_garbage(store: Store, root: Path, garbage: Garbage) -> None:
    """Removes it; should this be interrupted, the next run sweeps what is left.

    Args:
        store: of the root, which the caller has locked.
        root: the folder.
        garbage: as it was found.
    """
    store.forget(garbage.artifacts)
    for path in (*garbage.artifacts, *garbage.logs):
        shutil.rmtree(root / path, ignore_errors=True)


def _of_runs(history: History, runs: set[int]) -> set[int]:
    """The artifacts that runs read or made."""
    found: set[int] = set()
    for run in runs:
        for past in history.past_executions(run):
            for artifacts in (history.artifacts_of(past.id, "input"), history.artifacts_of(past.id, "output")):
                found |= {artifact.id for artifact in artifacts.values()}
    return found


def _of_versions(history: History, root: Path, stored: list[StoredArtifact]) -> set[int]:
    """All that is behind versions that are still where they were pushed to."""
    needed: set[int] = set()
    for artifact, folder, _ in pushed_folders(root, stored):
        if folder.is_dir():
            lineage = behind(history, artifact)
            needed.add(artifact.id)
            for step in lineage.steps.values():
                needed |= {each.id for each in step.inputs.values()}
    return needed


def _size(folder: Path) -> int:
    return sum(place.lstat().st_size for place in folder.rglob("*") if not place.is_dir())
