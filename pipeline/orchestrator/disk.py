"""A disk without space left: how it is known, and what is said of it."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator

from components.dsl.errors import InputError


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that there is no space left; libraries wrap the system's error in their own."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return os.strerror(errno.ENOSPC) in str(error) or "database or disk is full" in str(error)


@contextlib.contextmanager
def full_disk_told(root: str | os.PathLike[str]) -> Iterator[None]:
    """A disk that is full before a step begins, or after the last, is the user's to mend; steps tell it themselves.

    Raises:
        InputError: it is full.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_disk_full(error):
            raise
        rule = "must lie on a disk with space left"
        raise InputError(f"root {rule}, got {root}: {error}; make room, then run the same command again") from error
