"""Records the tensors that pass taps while a model runs."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keras_bert.layers.tap import Tap
from keras_bert.tensors import Tensor

Seen = dict[Tap, list[Any]]


@contextlib.contextmanager
def recording(taps: Iterable[Tap]) -> Iterator[Seen]:
    """A context that records the tensors that pass taps, in the order of the calls, behind their transforms.

    It changes no tensor, and restores the taps at its end. Recorded tensors belong to the trace inside the context.

    Args:
        taps: the taps to record; a tap that occurs twice is recorded once.

    Examples:
        >>> tap = Tap("output_tap")
        >>> with recording([tap]) as seen:
        ...     _ = tap(3.0, training=False)
        >>> seen[tap]
        [3.0]
    """
    opened = [(tap, _Notes.on(tap)) for tap in dict.fromkeys(taps)]
    try:
        yield {tap: notes.begin() for tap, notes in opened}
    finally:
        for tap, notes in opened:
            notes.end(tap)


class _Notes:
    """A transform that changes nothing and appends to a list for each thread.

    Several devices trace in threads that change places in the middle of a model: none may end the other's recording.
    """

    def __init__(self, before: Callable[[Any, bool], Any] | None) -> None:
        self._before, self._lists = before, dict[int, list[Any]]()

    @classmethod
    def on(cls, tap: Tap) -> "_Notes":
        """The notes that another thread began on the tap, else new ones."""
        if not isinstance(tap.transform, cls):
            tap.transform = cls(tap.transform)
        return tap.transform

    def __call__(self, x: Tensor, training: bool) -> Tensor:
        passed = x if self._before is None else self._before(x, training)
        if threading.get_ident() in self._lists:
            self._lists[threading.get_ident()].append(passed)
        return passed

    def begin(self) -> list[Any]:
        return self._lists.setdefault(threading.get_ident(), [])

    def end(self, tap: Tap) -> None:
        self._lists.pop(threading.get_ident(), None)
        if not self._lists:
            tap.transform = self._before
