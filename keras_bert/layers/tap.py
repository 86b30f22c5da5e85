"""Taps: hooks with which quantization and distillation observe or replace activations."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert.core.tensors import Tensor

# The smallest float32 above 1, which changes a value by at most its last bit: a product with it, which the TFLite
# converter cannot fold, parts an operation from the quantization grid of what it reads or of what reads it.
SEPARATOR = float(np.nextafter(np.float32(1), np.float32(2)))


class Tap:
    """A hook on an activation: the identity, or a function `transform` if one is set.

    There is a tap on every tensor that an integer kernel on a device reads or writes, so that quantization-aware
    training needs no second implementation of a model. `transform` is not saved.

    A tap is not a layer: a block has sixteen taps, and building or loading a model with sixteen more layers per block
    took 50 % longer. The tap of a `TapLayer` has no name.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.transform: Callable[[Any, bool], Any] | None = None

    def __call__(self, inputs: Tensor, training: bool) -> Tensor:
        """(...) -> (...), the same shape; `training` is passed to the transform."""
        return inputs if self.transform is None else self.transform(inputs, training)


@keras.saving.register_keras_serializable("keras_bert")
class TapLayer(keras.layers.Layer):
    """A tap as a layer of a model's graph."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tap = Tap()

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(...) -> (...), see `Tap`."""
        return self.tap(inputs, training)


def taps_of(layer: keras.layers.Layer) -> dict[str, Tap]:
    """Returns the taps of a layer by path, without the taps of its sublayers."""
    taps = (value for value in vars(layer).values() if isinstance(value, Tap))
    return {f"{layer.path}/{tap.name}" if tap.name else layer.path: tap for tap in taps}


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
    """A context in which a tap applies an additional function, in this thread only.

    The function keeps shapes and is applied after the tap's transform. Other threads may record or change the tap at
    the same time. Do not trace compiled functions with the tap inside the context: they would keep the function.
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


# Threads add and remove functions one at a time. Otherwise a thread could restore the tap's transform while another
# thread adds its function to the old one, which would then never be removed.
_LOCK = threading.Lock()


class _ThreadFunctions:
    """A tap's transform that applies the previous transform and then the functions of the current thread, in order.

    Threads enter and leave their contexts in any order: a distribution strategy traces a model in one thread per device
    and interleaves them. So each context removes its own function, and the last one restores the tap.
    """

    def __init__(self, transform: Callable[[Any, bool], Any] | None) -> None:
        self._transform = transform
        # An immutable tuple, because another thread may be iterating over it.
        self._functions: tuple[_ThreadFunction, ...] = ()

    @classmethod
    def add(cls, tap: Tap, function: _ThreadFunction) -> "_ThreadFunctions":
        """Adds a function to a tap; the first one replaces the tap's transform."""
        with _LOCK:
            if not isinstance(tap.transform, cls):
                tap.transform = cls(tap.transform)
            tap.transform._functions += (function,)
            return tap.transform

    def remove(self, tap: Tap, function: _ThreadFunction) -> None:
        """Removes a function; removing the last one restores the tap, unless another transform was set."""
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
