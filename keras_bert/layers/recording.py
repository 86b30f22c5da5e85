"""Records or changes the tensors at taps while a model runs."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from keras_bert.core.tensors import Tensor
from keras_bert.layers.tap import Tap

RecordedTensors = dict[Tap, list[Any]]


@contextlib.contextmanager
def recording(taps: Iterable[Tap]) -> Iterator[RecordedTensors]:
    """A context that records the outputs of taps in this thread, in the order of the calls.

    It changes no tensor, and restores the taps when it exits; a tap that occurs twice is recorded once. Use the
    recorded tensors only within the function that is traced inside the context.
    """
    tensors: RecordedTensors = {tap: [] for tap in taps}
    with contextlib.ExitStack() as stack:
        for tap, outputs in tensors.items():
            stack.enter_context(_observing(tap, outputs.append))
        yield tensors


@contextlib.contextmanager
def transforming(tap: Tap, transform: Callable[[Any], Any]) -> Iterator[None]:
    """A context in which a tap applies a further function to what this thread computes, and to nothing else.

    The function keeps shapes, is applied after the tap's transform, and is gone when the context exits; other threads
    may record or change the tap meanwhile. Compiled functions, which a tap is part of, must not be traced inside the
    context.
    """
    function = _ThreadFunction(threading.get_ident(), transform)
    functions = _ThreadFunctions.add(tap, function)
    try:
        yield
    finally:
        functions.remove(tap, function)


def _observing(tap: Tap, observe: Callable[[Any], None]) -> contextlib.AbstractContextManager[None]:
    def pass_on(x: Any) -> Any:
        observe(x)
        return x

    return transforming(tap, pass_on)


class _ThreadFunction(NamedTuple):
    thread: int
    function: Callable[[Any], Any]


# Threads add and remove functions one at a time: otherwise a thread could restore the tap's transform while another one
# adds its function to what it read before, which would then stay for good.
_LOCK = threading.Lock()


class _ThreadFunctions:
    """A tap's transform that applies the previous transform and then the functions of the current thread, in order.

    Threads enter and leave their contexts in any order: a distribution strategy traces a model in one thread per device
    and interleaves them. So each removes its own function, and the last one restores the tap.
    """

    def __init__(self, transform: Callable[[Any, bool], Any] | None) -> None:
        self._transform = transform
        # A tuple, which is replaced as a whole: another thread may be in the middle of a call.
        self._functions: tuple[_ThreadFunction, ...] = ()

    @classmethod
    def add(cls, tap: Tap, function: _ThreadFunction) -> "_ThreadFunctions":
        """Adds a function to those on the tap, or to new ones."""
        with _LOCK:
            if not isinstance(tap.transform, cls):
                tap.transform = cls(tap.transform)
            tap.transform._functions += (function,)
            return tap.transform

    def remove(self, tap: Tap, function: _ThreadFunction) -> None:
        """Removes a function; the last one restores the tap, unless another transform was set meanwhile."""
        with _LOCK:
            self._functions = tuple(other for other in self._functions if other is not function)
            if not self._functions and tap.transform is self:
                tap.transform = self._transform

    def __call__(self, x: Tensor, training: bool) -> Tensor:
        outputs = x if self._transform is None else self._transform(x, training)
        thread = threading.get_ident()
        for owner, function in self._functions:
            if owner == thread:
                outputs = function(outputs)
        return outputs
