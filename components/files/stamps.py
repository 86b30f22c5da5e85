"""Detects changes of a file without reading it."""

import os
import time
from typing import NamedTuple

# The coarsest clock of a file system that is in use (FAT).
SETTLED_NANOSECONDS = 2_000_000_000


class Stamp(NamedTuple):
    """A file's state; times in nanoseconds since the epoch.

    Attributes:
        modified: when the content was written last; tools that copy files set it back.
        changed: when content or metadata were changed last (`st_ctime`); no tool sets it back.
        inode: the number of the file, another one when a file is replaced.
        size: in bytes.
    """

    modified: int
    changed: int
    inode: int
    size: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp of a file, from the result of `os.stat`."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)

    def is_settled(self) -> bool:
        """True if the next change will change the stamp: two changes within one tick of the clock leave one stamp.

        Call it before the file is read.
        """
        return time.time_ns() - self.changed > SETTLED_NANOSECONDS
