"""A small disk for roots, which can be filled."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

_BALLAST = "ballast"


class Disk:
    """A folder, on a file system in memory where this user may mount one.

    Attributes:
        folder: where roots go.
        can_fill: the folder is a mounted disk, which may be filled.
    """

    def __init__(self, folder: Path, *, can_fill: bool) -> None:
        self.folder, self.can_fill = folder, can_fill

    @contextlib.contextmanager
    def filled(self, bytes_left: int) -> Iterator[None]:
        """Fills the disk up to `bytes_left` for the duration of the block."""
        ballast = self.folder / _BALLAST
        try:
            with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1 << 16)):
                    pass
            with ballast.open("r+b") as file:
                file.truncate(max(0, ballast.stat().st_size - bytes_left))
            yield
        finally:
            ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def mount_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Mounts a disk of `megabytes` at an empty folder; where mounting is not allowed, the folder stays as it is."""
    options = f"size={megabytes}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    try:
        yield Disk(folder, can_fill=mounted.returncode == 0)
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", folder], check=True)
