"""The state of a root after a kill. It is read without changing the root: the store is opened as a copy."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from components.dsl.artifact import MANIFEST, Artifact
from components.dsl.errors import InputError
from pipeline.orchestrator.root import LOGS
from pipeline.orchestrator.root_store import DATABASE
from pipeline.orchestrator.store import Store

_BEFORE, _BETWEEN = "before a run", "between steps"


class RootState(NamedTuple):
    """The state of a root.

    Attributes:
        step: the step that was running when the run was killed.
        intact: path of each published artifact, relative to the root -> its content is intact.
    """

    step: str
    intact: dict[str, bool]


def read_root_state(root: Path) -> RootState:
    """Reads the state of a root in which no run is active."""
    with tempfile.TemporaryDirectory() as copy:
        for file in root.glob(f"{DATABASE}*"):
            shutil.copy(file, copy)
        try:
            store = Store(Path(copy), create=False)
        except InputError:
            return RootState(_BEFORE, {})
        with contextlib.closing(store):
            artifacts = {str(row.artifact.path): row.artifact for row in store.artifacts()}
            runs = store.runs()
            done = {execution.node for execution in store.executions(runs[0].id)} if runs else set()
    intact = {path: is_intact(root / path, item.type, item.fingerprint) for path, item in artifacts.items()}
    if not runs or runs[0].state != "running":
        return RootState(_BEFORE, intact)
    running = {log.stem for log in (root / LOGS / str(runs[0].id)).glob("*.log")} - done
    return RootState(next(iter(sorted(running)), _BETWEEN), intact)


def is_intact(folder: Path, kind: str, fingerprint: str) -> bool:
    """True where a folder holds an artifact with this content; reads every byte, whatever times and sizes say."""
    try:
        version = int(json.loads((folder / MANIFEST).read_text())["format_version"])
        artifact = type(kind, (Artifact,), {"format_version": version})(folder)
        return bool(artifact.fingerprint() == fingerprint == artifact.read_fingerprint())
    except (OSError, ValueError, KeyError, TypeError):
        return False
