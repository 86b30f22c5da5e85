"""The folder that a pipeline keeps everything in: made, locked, swept, and taken away again when nothing came of it."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError
from pipeline.orchestrator.store import DATABASE, Store

STAGING = ".staging"
ARTIFACTS = "artifacts"
LOGS = "logs"
UNFINISHED = ".unfinished"
UNFINISHED_SECONDS = 14 * 24 * 3600
LOCK = ".lock"
CODE = ".code.json"


class Root:
    """An existing root, locked by this process.

    Attributes:
        path: the folder, absolute.
        made: the folders that had to be made for it, outermost first; empty for a root that was there before.
    """

    def __init__(self, path: Path, made: list[Path]) -> None:
        self.path = path
        self.made = made

    def sweep(self, store: Store) -> None:
        """Deletes what killed runs left: all in staging, artifacts that were never recorded, old unfinished steps."""
        shutil.rmtree(self.path / STAGING, ignore_errors=True)
        for folder in (self.path / UNFINISHED).glob("*"):
            # Of a step that was interrupted and then run with other settings, nobody asks for it again.
            if time.time() - _last_written(folder) > UNFINISHED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        known = store.paths()
        for folder in (self.path / ARTIFACTS).glob("*/*"):
            if folder.relative_to(self.path).as_posix() not in known:
                shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Takes away a root that this process made, with the folders made for it.

        A root that was there before stays, and so does one in which a step has finished or left a checkpoint.
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
    """When anything in a folder was last written, in seconds since the epoch."""
    # A folder's own time changes with its entries, not with those deeper down.
    return max(place.lstat().st_mtime for place in (folder, *folder.rglob("*")))


def _refuse_foreign(path: Path) -> None:
    """A root is swept: a folder that no run has made may hold anything, and must not be taken for one."""
    if (path / DATABASE).is_file():
        return
    for entry in sorted(path.iterdir()):
        if entry.name != LOCK and not entry.name.startswith(DATABASE):
            (path / LOCK).unlink(missing_ok=True)
            raise InputError(
                f"root must be a new or empty folder, or one of an earlier run, got {path}: it holds {entry.name}"
            )


@contextlib.contextmanager
def locked_root(path: Path) -> Iterator[Root]:
    """The root at `path`, made if need be, held by this process until the end of the block.

    Raises:
        InputError: it cannot be made or written to, holds something else, or another run holds it.
    """
    path = path.expanduser().absolute()
    root = Root(path, [])
    with contextlib.ExitStack() as stack:
        try:
            root.made = [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((path / LOCK).open("a+"))
        except OSError as error:
            root.remove()
            raise InputError(f"root must be a folder that can be written to, got {path}: {error.strerror}") from error
        _refuse_foreign(path)
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
