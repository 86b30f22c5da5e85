"""Times a contestant of a benchmark by the clock and by the processor."""

import os
import time
from collections.abc import Callable


def start_watch() -> Callable[[], dict[str, float]]:
    """Starts; what it returns gives the seconds since then: `seconds` by the clock, `processor` by the processor.

    The latter are those of this process, its threads, and the processes that it started and that ended.
    """
    clock, processor = time.perf_counter(), sum(os.times()[:4])
    return lambda: {"seconds": time.perf_counter() - clock, "processor": sum(os.times()[:4]) - processor}
