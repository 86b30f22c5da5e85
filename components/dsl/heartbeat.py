"""A function that a thread calls again and again."""

import contextlib
import threading
from collections.abc import Callable


class Heartbeat:
    """Calls a function again and again from a thread until it is stopped, as this process may be busy.

    Errors that are `ignored` do not end the thread, as a full disk and a server that is away for a moment.
    """

    def __init__(self, beat: Callable[[], None], seconds: float, ignored: type[Exception] = OSError) -> None:
        self._beat, self._seconds, self._ignored = beat, seconds, ignored
        self._is_due, self._has_stopped = threading.Event(), False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def beat_now(self) -> None:
        """Makes the thread call the function at once."""
        self._is_due.set()

    def stop(self) -> None:
        """Ends the thread, after a call that is going on."""
        self._has_stopped = True
        self._is_due.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._is_due.wait(self._seconds)
            self._is_due.clear()
            if self._has_stopped:
                return
            with contextlib.suppress(self._ignored):
                self._beat()
