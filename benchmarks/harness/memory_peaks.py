"""The time of a call, and the peak memory of the process during it; Linux only."""

import ctypes
import gc
import time
from collections.abc import Callable

from components.scoring.process_memory import peak_megabytes, reset_peak


def measure(call: Callable[[], object], least: float) -> tuple[float, float]:
    """Times a function that returns after all computation: one call to warm up, then calls for `least` seconds.

    Returns the seconds of the fastest call, and the peak of the process's resident set in MB, its size before included.
    """
    call()
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    reset_peak()
    fastest, spent = float("inf"), 0.0
    while spent < least:
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        fastest, spent = min(fastest, seconds), spent + seconds
    peak = peak_megabytes()
    assert peak is not None, "memory is measured on Linux alone"
    return fastest, peak
