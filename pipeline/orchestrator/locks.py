"""Locks of steps, as files in the root: a step runs once at a time, and a measurement without other steps."""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from components.dsl.locks import lock_file
from components.dsl.paths import own_entries

LOCKS = ".locks"


@contextlib.contextmanager
def step_locked(root: Path, name: str, key: str, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of a step inside the block; waits for another process that runs the same step."""
    with open_lock(root, f"{key}.lock") as lock:
        _acquire(lock, lambda holder: say(f"{name}: waits for the same step ({holder})"))
        write_holder(lock, name)
        yield


@contextlib.contextmanager
def machine_locked(root: Path, name: str, say: Callable[[str], None], *, is_alone: bool) -> Iterator[None]:
    """Shares this machine with other steps of the root inside the block; `is_alone` excludes them, to measure time."""
    with open_lock(root, f"{socket.gethostname()}.machine") as lock:
        announcement = f"{name}: waits for other steps on this machine, to measure time alone"
        _acquire(lock, lambda _: say(announcement), is_shared=not is_alone)
        yield


@contextlib.contextmanager
def process_locked(file: Path, wait: Callable[[], None]) -> Iterator[None]:
    """Holds the lock of a step's process inside the block; the process itself calls this.

    A step that was started by a program may outlive its launcher for a while; the next process of the same step must
    not write checkpoints beside it.
    """
    with file.open("a+") as lock:
        while not lock_file(lock):
            wait()
        yield


def find_holders(root: Path) -> list[str]:
    """The steps that hold their locks, in words, as `write_holder` writes them."""
    holders = []
    for file in sorted((root / LOCKS).glob("*.lock")):
        with file.open("a+") as lock:
            if not lock_file(lock, is_shared=True):
                holders.append(read_holder(lock))
    return holders


def remove_free_locks(root: Path) -> None:
    """Removes the files of locks that nobody holds; the caller has locked the root, so that no step begins."""
    for file in own_entries(root, f"{LOCKS}/*"):
        with file.open("a+") as lock:
            if lock_file(lock):
                file.unlink()


def process_lock_file(root: Path, key: str) -> Path:
    """The file for `process_locked`, in a folder that is created."""
    (root / LOCKS).mkdir(exist_ok=True)
    return root / LOCKS / f"{key}.process"


def open_lock(root: Path, name: str) -> IO[str]:
    """The open file of a lock, in a folder that is created."""
    (root / LOCKS).mkdir(exist_ok=True)
    return (root / LOCKS / name).open("a+")


def _acquire(lock: IO[str], announce: Callable[[str], None], *, is_shared: bool = False) -> None:
    if not lock_file(lock, is_shared=is_shared):
        announce(read_holder(lock))
        lock_file(lock, is_shared=is_shared, wait=True)


def write_holder(lock: IO[str], name: str) -> None:
    """Writes into the file of a lock who holds it."""
    lock.truncate(0)
    lock.write(f"{name}, process {os.getpid()} on {socket.gethostname()}")
    lock.flush()


def read_holder(lock: IO[str]) -> str:
    """The last process that held a lock exclusively, in words."""
    lock.seek(0)
    return lock.read().strip() or "unknown"
