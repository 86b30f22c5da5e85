"""What a root tells after a kill, looked at without touching it: the store is read in a copy."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from components.dsl.artifact import MANIFEST, Artifact
from components.dsl.errors import InputError
from pipeline.orchestrator.root import LOGS
from pipeline.orchestrator.store import DATABASE, Store

_BEFORE, _BETWEEN = "before a run", "between steps"


class Trace(NamedTuple):
    """What a killed run left.

    Attributes:
        step: the one that was running.
        published: paths of the artifacts that the store has, relative to the root -> whether they are whole.
    """

    step: str
    published: dict[str, bool]


def look(root: Path) -> Trace:
    """Looks at a root that nobody works in."""
    with tempfile.TemporaryDirectory() as copy:
        for file in root.glob(f"{DATABASE}*"):
            shutil.copy(file, copy)
        try:
            store = Store(Path(copy), create=False)
        except InputError:
            return Trace(_BEFORE, {})
        with contextlib.closing(store):
            published = {str(made.artifact.path): made.artifact for made in store.artifacts()}
            runs = store.runs()
            done = {each.node for each in store.executions(runs[0].id)} if runs else set()
    whole = {path: is_whole(root / path, known.type, known.fingerprint) for path, known in published.items()}
    if not runs or runs[0].state != "running":
        return Trace(_BEFORE, whole)
    begun = {log.stem for log in (root / LOGS / str(runs[0].id)).glob("*.log")} - done
    return Trace(next(iter(sorted(begun)), _BETWEEN), whole)


def is_whole(folder: Path, kind: str, fingerprint: str) -> bool:
    """Whether a folder holds an artifact with this content; all of it is read, whatever times and sizes tell."""
    try:
        version = int(json.loads((folder / MANIFEST).read_text())["format_version"])
        artifact = type(kind, (Artifact,), {"format_version": version})(folder)
        return bool(artifact.fingerprint() == fingerprint == artifact.read_fingerprint())
    except (OSError, ValueError, KeyError, TypeError):
        return False
