"""How long a call takes, and how much memory a process holds at most meanwhile; Linux only."""

import ctypes
import gc
import re
import time
from collections.abc import Callable
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def measure(call: Callable[[], object], least: float) -> tuple[float, float]:
    """Calls it once to warm up, and then so often that it takes a while.

    Args:
        call: it ends when all is computed.
        least: seconds.

    Returns:
        Seconds of the fastest call, and MB of the process's resident set at most, all that it held before included.
    """
    call()
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    # Linux, Documentation/filesystems/proc.rst: 5 forgets the peak.
    Path("/proc/self/clear_refs").write_text("5")
    fastest, spent = float("inf"), 0.0
    while spent < least:
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        fastest, spent = min(fastest, seconds), spent + seconds
    match = _PEAK.search(Path("/proc/self/status").read_text())
    assert match is not None
    return fastest, int(match[1]) / 1000
