"""Locks of open files and folders.

The system releases them at the end of the process, however it ends; on a shared file system they hold across machines.
"""

import contextlib
import errno
import fcntl
import functools
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

logger = logging.getLogger(__name__)

# NFS without a lock manager, and file systems of FUSE.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def lock_file(
    opened: int | IO[str], *, is_shared: bool = False, wait: bool = False, without_locks: bool = True
) -> bool:
    """Takes the lock of an open file or folder, alone or with others that share it; returns whether it did.

    With `wait` it waits for those who have the lock. `without_locks` is the answer where the file system has no locks.
    """
    try:
        fcntl.flock(opened, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        _warn_once(str(error.strerror))
        return without_locks
    return True


@functools.cache
def _warn_once(reason: str) -> None:
    logger.warning("a file system has no locks (%s): no two runs may write to the same folders at once", reason)


@contextlib.contextmanager
def folder_locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Locks a folder during the block. Yields whether the file system has locks.

    Raises:
        BlockingIOError: another process holds the lock, and `wait` is False.
        OSError: the folder cannot be opened.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            has_locks = True
        except BlockingIOError:
            raise
        except OSError:
            has_locks = False
        yield has_locks
    finally:
        # Without this, a process that was started meanwhile would keep the lock.
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_UN)
        os.close(opened)
