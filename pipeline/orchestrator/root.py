"""The root folder of a pipeline: creates, locks and sweeps it, and removes it if a run made nothing."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from components.dsl.paths import own_entries
from components.objects.mirror import REMOTE_FILE
from pipeline.orchestrator.locks import find_holders, read_holder, remove_free_locks, write_holder
from pipeline.orchestrator.records import ARTIFACTS
from pipeline.orchestrator.root_store import ABANDONED_SECONDS, DATABASE, RootStore

STAGING = ".staging"
LOGS = "logs"
UNFINISHED = ".unfinished"
LOCK = ".lock"
CODE = ".code.json"


class Root:
    """An existing root that this process has locked, and the folders that were made for it, outermost first."""

    def __init__(self, path: Path, made: list[Path]) -> None:
        self.path = path
        self.made = made
        self.lock: IO[str] | None = None

    def sweep(self, store: RootStore) -> None:
        """Deletes the remains of killed runs: staging folders, unrecorded artifacts, old checkpoints of steps.

        This process must have locked the root exclusively.
        """
        self.sweep_staging()
        remove_free_locks(self.path)
        for folder in own_entries(self.path, f"{UNFINISHED}/*"):
            # Checkpoints of a step that was interrupted and later ran with other settings are never used again.
            # A folder's modification time changes with its direct entries only.
            written = max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
            if time.time() - written > ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        recorded = store.paths()
        for folder in own_entries(self.path, f"{ARTIFACTS}/*/*"):
            if folder.relative_to(self.path).as_posix() not in recorded:
                shutil.rmtree(folder, ignore_errors=True)

    def sweep_staging(self, key: str = "") -> None:
        """Deletes the staging folders of a step, whose lock this process holds; without a key, of all steps."""
        for folder in own_entries(self.path, f"{STAGING}/{staging_prefix(key) if key else ''}*"):
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.path / STAGING).rmdir()

    def remove(self) -> None:
        """Removes a root that this process created, with its parent folders that were created for it.

        A root that existed before stays, and so does one that another process uses, or in which a step has finished,
        saved a checkpoint or left a log.
        """
        folders = (self.path / ARTIFACTS, self.path / UNFINISHED, self.path / LOGS)
        if self.path not in self.made or any(entry.is_file() for folder in folders for entry in folder.rglob("*")):
            return
        if self.lock is not None and not lock_file(self.lock, without_locks=False):
            return
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in reversed(self.made):
            with contextlib.suppress(OSError):
                folder.rmdir()


def staging_prefix(key: str) -> str:
    """The start of the names of a step's staging folders."""
    return f"{key[:12]}-"


def check_root(path: Path) -> None:
    """Checks that a path can be a root; since a root is swept, it must hold nothing else."""
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"root must be a folder that can be written to, got {path}: it is a file")
    if not (path / DATABASE).is_file():
        for entry in sorted(path.iterdir()):
            if entry.name not in (LOCK, REMOTE_FILE) and not entry.name.startswith(DATABASE):
                raise InputError(
                    f"root must be a new or empty folder, or one of an earlier run, got {path}: it holds {entry.name}"
                )


@contextlib.contextmanager
def locked_root(path: Path, *, is_shared: bool = False) -> Iterator[Root]:
    """The root at `path`, created if necessary, and locked by this process inside the block.

    With `is_shared`, other processes may share the root at the same time, as single steps do; what sweeps the root must
    have it alone.
    """
    path = path.expanduser().absolute()
    root = Root(path, [])
    with contextlib.ExitStack() as stack:
        try:
            check_root(path)
            root.made = [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            lock = root.lock = stack.enter_context((path / LOCK).open("a+"))
        except OSError as error:
            root.remove()
            raise InputError(f"root must be a folder that can be written to, got {path}: {error.strerror}") from error
        if not lock_file(lock, is_shared=is_shared):
            steps = find_holders(path)
            holder = f"another run holds it ({read_holder(lock)})"
            if steps:
                holder = f"steps run in it ({'; '.join(steps)})"
            raise InputError(
                f"root must be free, got {path}: {holder}; commands that start as `flock FILE "
                "keras-bert-edge ...`, all with one FILE, wait for each other, and another --root is free"
            )
        if not is_shared:
            write_holder(lock, "run")
        yield root
