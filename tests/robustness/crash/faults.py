"""Faults that are injected into a root between two starts of a run.

Each takes the root and a random generator, and returns the paths of the artifacts that it changed; None where there
was nothing to change.
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from components.dsl.artifact import MANIFEST
from pipeline.orchestrator.records import ARTIFACTS
from pipeline.orchestrator.root import UNFINISHED
from pipeline.orchestrator.root_store import DATABASE

_DAY_SECONDS = 24 * 3600


def truncate_artifact(root: Path, generator: random.Random) -> set[str] | None:
    """Truncates a file of an artifact."""
    return _truncate_any(root, f"{ARTIFACTS}/*/*/**/*", generator)


def flip_artifact(root: Path, generator: random.Random) -> set[str] | None:
    """Changes a byte of an artifact; the length of the file stays."""
    file = _choose_file(root, f"{ARTIFACTS}/*/*/**/*", generator)
    if file is None or file.name == MANIFEST:
        return None
    content = bytearray(file.read_bytes())
    content[generator.randrange(len(content))] ^= generator.randint(1, 255)
    file.write_bytes(bytes(content))
    return {_artifact_path(root, file)}


def truncate_checkpoint(root: Path, generator: random.Random) -> set[str] | None:
    """Truncates a checkpoint of a killed step."""
    return _truncate_any(root, f"{UNFINISHED}/**/*", generator)


def truncate_journal(root: Path, generator: random.Random) -> set[str] | None:
    """Truncates the store's rollback journal, which a kill in the middle of a transaction leaves."""
    return _truncate_any(root, f"{DATABASE}-journal", generator)


def set_clock_back(root: Path, generator: random.Random) -> set[str] | None:
    """Dates all files tomorrow, as if the clock had been set back by a day."""
    tomorrow = time.time() + _DAY_SECONDS
    for path in root.rglob("*"):
        os.utime(path, (tomorrow, tomorrow), follow_symlinks=False)
    return set()


FAULTS: dict[str, Callable[[Path, random.Random], set[str] | None]] = {
    "artifact cut": truncate_artifact,
    "artifact flipped": flip_artifact,
    "checkpoint cut": truncate_checkpoint,
    "journal cut": truncate_journal,
    "clock set back": set_clock_back,
}


def _choose_file(root: Path, pattern: str, generator: random.Random) -> Path | None:
    """Any file that is not empty."""
    files = sorted(file for file in root.glob(pattern) if file.is_file() and file.stat().st_size)
    return generator.choice(files) if files else None


def _truncate_any(root: Path, pattern: str, generator: random.Random) -> set[str] | None:
    file = _choose_file(root, pattern, generator)
    if file is None:
        return None
    content = file.read_bytes()
    file.write_bytes(content[: generator.randrange(len(content))])
    return {_artifact_path(root, file)}


def _artifact_path(root: Path, file: Path) -> str:
    """The path of the artifact that contains a file, relative to the root."""
    return "/".join(file.relative_to(root).parts[:3])
