"""Files by which processes of one root see each other's state, and whether they are alive."""

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from components.dsl.heartbeat import Heartbeat
from keras_bert.core.folders import write_whole
from pipeline.orchestrator.mailbox import BEAT_SECONDS, LOST_SECONDS, read_visible

# In the root; a file for each process, and the chief's request.
WORKERS = ".workers"


class Presence:
    """Publishes the state of this process in a file, with a count that grows each second.

    A context manager, inside which the count grows. The file is replaced at once, never changed in place.
    """

    def __init__(self, file: Path, **state: Any) -> None:
        self._file, self._state = file, state
        self._lock, self._beat = threading.Lock(), 0

    def __enter__(self) -> Self:
        self.update()
        # On a full disk, or where the root is being moved, the other side notices that the count stands still.
        self._heartbeat = Heartbeat(self.update, BEAT_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.stop()

    def update(self, **state: Any) -> None:
        """Changes parts of the state and publishes all of it."""
        with self._lock:
            self._state |= state
            self._beat += 1
            write_whole(self._file, {**self._state, "beat": self._beat})


class Sighting:
    """The view of another process's `Presence`; it compares counts, as the clocks of machines differ."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.state = read_visible(file)
        self._changed: float | None = None

    def look(self) -> dict[str, Any]:
        """Reads and returns the state."""
        state = read_visible(self._file)
        if state != self.state:
            self.state, self._changed = state, time.monotonic()
        return self.state

    @property
    def is_alive(self) -> bool:
        """Whether the count has changed since the first look, and within the last `LOST_SECONDS`."""
        return self._changed is not None and time.monotonic() - self._changed < LOST_SECONDS
