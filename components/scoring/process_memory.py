"""The resident memory of this process and its peak, as Linux counts them; only the standard library is needed."""

import re
from pathlib import Path

_STATUS = Path("/proc/self/status")


def reset_peak() -> None:
    """Sets the peak of the resident set to its present size; does nothing where the system is not Linux."""
    if _STATUS.exists():
        # Linux, Documentation/filesystems/proc.rst: 5 resets the peak.
        Path("/proc/self/clear_refs").write_text("5")


def resident_megabytes() -> float | None:
    """The present size of the resident set in MB; None where the system is not Linux."""
    return _megabytes("VmRSS")


def peak_megabytes() -> float | None:
    """The peak of the resident set in MB since `reset_peak`; None where the system is not Linux."""
    return _megabytes("VmHWM")


def _megabytes(field: str) -> float | None:
    if not _STATUS.exists():
        return None
    match = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1]) * 1024 / 1e6  # Linux's kB are 1,024 bytes
