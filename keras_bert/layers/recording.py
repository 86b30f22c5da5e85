"""Records or changes the tensors at taps while a model runs."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keras_bert.layers.tap import Tap
from keras_bert.tensors import Tensor

RecordedTensors = dict[Tap, list[Any]]


@contextlib.contextmanager
def recording(taps: Iterable[Tap]) -> Iterator[RecordedTensors]:
    """A context that records the outputs of taps, in the order of the calls.

    It changes no tensor, and restores the taps when it exits. Use the recorded tensors only within the function that is
    traced inside the context.

    Args:
        taps: the taps to record; a tap that occurs twice is recorded once.

    Examples:
        >>> tap = Tap("output_tap")
        >>> with recording([tap]) as tensors:
        ...     _ = tap(3.0, training=False)
        >>> tensors[tap]
        [3.0]
    """
    recorders = {tap: _Recorder.start(tap) for tap in dict.fromkeys(taps)}
    try:
        yield {tap: recorder.tensors() for tap, recorder in recorders.items()}
    finally:
        for tap, recorder in recorders.items():
            recorder.stop(tap)


@contextlib.contextmanager
def transforming(tap: Tap, transform: Callable[[Any], Any]) -> Iterator[None]:
    """A context in which a tap applies a further function to what this thread computes, and to nothing else.

    The function is applied after the tap's transform, and is gone when the context exits. Only one thread at a time may
    change a tap, and compiled functions, which a tap is part of, must not be traced inside the context.

    Args:
        tap: the tap.
        transform: a tensor -> a tensor of the same shape.

    Examples:
        >>> tap = Tap()
        >>> with transforming(tap, lambda x: 2 * x):
        ...     print(tap(3.0, training=False))
        6.0
        >>> tap(3.0, training=False)
        3.0
    """
    previous, thread = tap.transform, threading.get_ident()

    def apply(x: Any, training: bool) -> Any:
        outputs = x if previous is None else previous(x, training)
        return transform(outputs) if threading.get_ident() == thread else outputs

    tap.transform = apply
    try:
        yield
    finally:
        tap.transform = previous


# Without it a thread that stops could restore the transform while another one starts, which would record nothing.
_LOCK = threading.Lock()


class _Recorder:
    """A tap's transform that applies the previous transform and appends its output to a list of the current thread.

    A distribution strategy traces a model in one thread per device and interleaves them: a thread that stops recording
    must not stop the others.
    """

    def __init__(self, transform: Callable[[Any, bool], Any] | None) -> None:
        self._transform, self._lists = transform, dict[int, list[Any]]()

    @classmethod
    def start(cls, tap: Tap) -> "_Recorder":
        """Starts recording in this thread, with the recorder that another thread set on the tap, or else a new one."""
        with _LOCK:
            if not isinstance(tap.transform, cls):
                tap.transform = cls(tap.transform)
            tap.transform._lists.setdefault(threading.get_ident(), [])
            return tap.transform

    def __call__(self, x: Tensor, training: bool) -> Tensor:
        outputs = x if self._transform is None else self._transform(x, training)
        if threading.get_ident() in self._lists:
            self._lists[threading.get_ident()].append(outputs)
        return outputs

    def tensors(self) -> list[Any]:
        """The list of this thread."""
        return self._lists[threading.get_ident()]

    def stop(self, tap: Tap) -> None:
        """Stops recording in this thread; the last one restores the tap."""
        with _LOCK:
            self._lists.pop(threading.get_ident(), None)
            if not self._lists:
                tap.transform = self._transform
