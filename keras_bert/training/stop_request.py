"""Turns Ctrl-C and SIGTERM into a request to stop, so that running work can finish in order."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """A request to stop, and the name of the signal that was received."""

    def __init__(self) -> None:
        self.signal = ""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Stores the signal; a second Ctrl-C interrupts at once."""
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name


@contextlib.contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Inside of the block, Ctrl-C and SIGTERM only set the request; outside of the main thread nothing changes."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    # Ignored signals, as in the process of a step, stay ignored.
    handlers = {number: signal.getsignal(number) for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        for number in handlers:
            signal.signal(number, request)
        yield request
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
