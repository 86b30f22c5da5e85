"""Times a contestant of a benchmark by the clock and by the processor."""

import os
import time
from typing import NamedTuple


class Stopwatch(NamedTuple):
    """The time at which something begins.

    Attributes:
        clock: seconds of a clock.
        processor: processor seconds of this process, its threads, and the processes that it started and that ended.
    """

    clock: float
    processor: float

    @classmethod
    def start(cls) -> "Stopwatch":
        """The time now."""
        return cls(time.perf_counter(), sum(os.times()[:4]))

    def read(self) -> dict[str, float]:
        """The seconds since then: `seconds` by the clock, `processor` by the processor."""
        now = Stopwatch.start()
        return {"seconds": now.clock - self.clock, "processor": now.processor - self.processor}
