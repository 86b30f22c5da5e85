"""Recognizes and reports a full disk."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator

from components.dsl.errors import InputError


def is_disk_full(error: BaseException) -> bool:
    """Whether an error means that no space is left; libraries wrap the system's error in theirs."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return os.strerror(errno.ENOSPC) in str(error) or "database or disk is full" in str(error)


@contextlib.contextmanager
def disk_full_as_input_error(root: str | os.PathLike[str], step: str = "") -> Iterator[None]:
    """Turns a full disk into an error that says what to do, and names the step if there is one."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_disk_full(error):
            raise
        raise full_disk_error(root, f"{step}: {error}" if step else str(error)) from error


def full_disk_error(root: str | os.PathLike[str], message: str) -> InputError:
    """The error for a full disk, which names the root and says what to do."""
    rule = "must lie on a disk with space left"
    return InputError(f"root {rule}, got {root}: {message}; make room, then run the same command again")
