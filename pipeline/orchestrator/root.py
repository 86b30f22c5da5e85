"""The root folder of a pipeline: creates, locks and sweeps it, and removes it if a run made nothing."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError
from components.objects.mirror import REMOTE_FILE
from pipeline.orchestrator.store import DATABASE, Store

STAGING = ".staging"
ARTIFACTS = "artifacts"
LOGS = "logs"
UNFINISHED = ".unfinished"
UNFINISHED_SECONDS = 14 * 24 * 3600
LOCK = ".lock"
CODE = ".code.json"


class Root:
    """An existing root that this process has locked.

    Attributes:
        path: absolute path of the folder.
        made: the folders that were created for it, outermost first; empty for a root that existed.
    """

    def __init__(self, path: Path, made: list[Path]) -> None:
        self.path = path
        self.made = made

    def sweep(self, store: Store) -> None:
        """Deletes the remains of killed runs: staging folders, unrecorded artifacts, old checkpoints of steps."""
        shutil.rmtree(self.path / STAGING, ignore_errors=True)
        for folder in (self.path / UNFINISHED).glob("*"):
            # Checkpoints of a step that was interrupted and later ran with other settings are never used again.
            if time.time() - _last_written(folder) > UNFINISHED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        recorded = store.paths()
        for folder in (self.path / ARTIFACTS).glob("*/*"):
            if folder.relative_to(self.path).as_posix() not in recorded:
                shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Removes a root that this process created, with its parent folders that were created for it.

        A root that existed before stays, and so does one in which a step has finished or saved a checkpoint.
        """
        if self.path not in self.made or self._holds_work():
            return
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in reversed(self.made):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _holds_work(self) -> bool:
        places = (self.path / ARTIFACTS, self.path / UNFINISHED)
        return any(entry.is_file() for place in places for entry in place.rglob("*"))


def _last_written(folder: Path) -> float:
    """The time of the last change in a folder, in seconds since the epoch."""
    # A folder's modification time changes with its direct entries only.
    return max(place.lstat().st_mtime for place in (folder, *folder.rglob("*")))


def check_root(path: Path) -> None:
    """Checks that a path can be a root; since a root is swept, it must hold nothing else.

    Raises:
        InputError: the path is a file, or a folder with content that is not a root.
        OSError: the path cannot be read.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"root must be a folder that can be written to, got {path}: it is a file")
    if not (path / DATABASE).is_file():
        for entry in sorted(path.iterdir()):
            if entry.name not in (LOCK, REMOTE_FILE) and not entry.name.startswith(DATABASE):
                rule = "must be a new or empty folder, or one of an earlier run"
                raise InputError(f"root {rule}, got {path}: it holds {entry.name}")


@contextlib.contextmanager
def locked_root(path: Path) -> Iterator[Root]:
    """The root at `path`, created if necessary, and locked by this process inside of the block.

    Raises:
        InputError: the root cannot be created or written to, holds something else, or is locked by another run.
    """
    path = path.expanduser().absolute()
    root = Root(path, [])
    with contextlib.ExitStack() as stack:
        try:
            check_root(path)
            root.made = [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((path / LOCK).open("a+"))
        except OSError as error:
            root.remove()
            raise InputError(f"root must be a folder that can be written to, got {path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise InputError(f"root must be free, got {path}: another run holds it (process {holder})") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield root
