"""What befalls a root between two starts of a run."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from components.dsl.artifact import MANIFEST
from pipeline.orchestrator.root import ARTIFACTS, UNFINISHED
from pipeline.orchestrator.store import DATABASE

_DAY = 24 * 3600


def cut_artifact(root: Path, chance: random.Random) -> set[str] | None:
    """A file of an artifact loses its end."""
    file = _pick(root, f"{ARTIFACTS}/*/*/**/*", chance)
    return None if file is None else _cut(root, file, chance)


def flip_artifact(root: Path, chance: random.Random) -> set[str] | None:
    """A byte of an artifact becomes another one; the file is as long as before."""
    file = _pick(root, f"{ARTIFACTS}/*/*/**/*", chance)
    if file is None or file.name == MANIFEST:
        return None
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= chance.randint(1, 255)
    file.write_bytes(bytes(content))
    return {_artifact(root, file)}


def cut_checkpoint(root: Path, chance: random.Random) -> set[str] | None:
    """A checkpoint of a step that was killed loses its end."""
    file = _pick(root, f"{UNFINISHED}/**/*", chance)
    return None if file is None else _cut(root, file, chance)


def cut_log(root: Path, chance: random.Random) -> set[str] | None:
    """The store's log of what is not yet in the database itself loses its end."""
    file = _pick(root, f"{DATABASE}-wal", chance)
    return None if file is None else _cut(root, file, chance)


def set_clock_back(root: Path, chance: random.Random) -> set[str] | None:
    """All that was written so far is of tomorrow; it stands for a clock that goes a day back."""
    tomorrow = time.time() + _DAY
    for place in root.rglob("*"):
        os.utime(place, (tomorrow, tomorrow), follow_symlinks=False)
    return set()


HARMS: dict[str, Callable[[Path, random.Random], set[str] | None]] = {
    "artifact cut": cut_artifact,
    "artifact flipped": flip_artifact,
    "checkpoint cut": cut_checkpoint,
    "log cut": cut_log,
    "clock set back": set_clock_back,
}
"""Name -> what harms a root, and gives the artifacts that it touched; None where there was nothing to harm."""


def _pick(root: Path, pattern: str, chance: random.Random) -> Path | None:
    """Any file with something in it."""
    files = sorted(file for file in root.glob(pattern) if file.is_file() and file.stat().st_size)
    return chance.choice(files) if files else None


def _cut(root: Path, file: Path, chance: random.Random) -> set[str]:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))])
    return {_artifact(root, file)}


def _artifact(root: Path, file: Path) -> str:
    """The folder of the artifact that a file is of."""
    return "/".join(file.relative_to(root).parts[:3])
