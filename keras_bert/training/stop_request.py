"""Ctrl-C and SIGTERM as a request: the work comes to a good end first."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether somebody asked to stop.

    Attributes:
        signal: the name of the signal that came, empty until then.
    """

    def __init__(self) -> None:
        self.signal = ""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Notes a signal; the second Ctrl-C no longer waits."""
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name


@contextlib.contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Within the block Ctrl-C and SIGTERM only leave a note; in a thread other than the main one nothing changes."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    # One that is ignored, as in a step's own process, stays so.
    before = {number: signal.getsignal(number) for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, request)
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
