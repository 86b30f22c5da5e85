"""The adapter that is attached to an encoder, and the Keras models that run through that encoder."""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

import keras


class Attachable(Protocol):
    """An adapter, as `Attachments` sees it."""

    def insert(self) -> None:
        """Inserts its layers and values into the encoder."""

    def remove(self) -> None:
        """Removes them from the encoder."""

    def owns(self, model: keras.Model) -> bool:
        """Whether a model contains the head that was trained together with the adapter."""


class Attachments:
    """The adapter that is attached to an encoder, at most one at a time, and the models that run through the encoder.

    Several Keras models may share an encoder: those of several tasks, and the encoder alone. Keras compiles `fit`,
    `evaluate` and `predict` of each model once, with the layers that the encoder has at that time. So the compiled
    functions are exchanged together with the adapter; none computes with an adapter that is detached.

    Attributes:
        attached: the adapter, None for the encoder alone.

    Examples:
        >>> class Printer:
        ...     def insert(self):
        ...         print("inserted")
        ...     def remove(self):
        ...         print("removed")
        >>> with Attachments().using(Printer()):
        ...     print("used")
        inserted
        used
        removed
    """

    def __init__(self) -> None:
        self.attached: Attachable | None = None
        self._adapters: weakref.WeakSet[Attachable] = weakref.WeakSet()
        self._models: weakref.WeakSet[keras.Model] = weakref.WeakSet()
        self._sets_lock = threading.Lock()
        # Held by the thread that exchanges adapters, until the former adapter is attached again.
        self._exchange = threading.RLock()
        self._shared = 0
        self._all_left = threading.Condition()

    def discard(self, adapter: Attachable) -> None:
        """Removes an adapter that was merged or dropped: the models with its head run without it."""
        with self._sets_lock:
            self._adapters.discard(adapter)

    def adapters(self) -> list[Attachable]:
        """The adapters that were attached at some time, and neither merged nor dropped since."""
        with self._sets_lock:
            return list(self._adapters)

    def enter(self, model: Any) -> None:
        """Registers the model that is called, or traced, through the encoder.

        Raises:
            ValueError: see `check_attached`.
        """
        if isinstance(model, keras.Model):
            with self._sets_lock:
                self._models.add(model)
            self.check_attached(model)

    def check_attached(self, model: keras.Model) -> None:
        """Refuses a model that would run, train, or be read without the adapter that belongs to its head.

        Raises:
            ValueError: the adapter of the model is detached.
        """
        owners = [adapter for adapter in self.adapters() if adapter.owns(model)]
        if owners and self.attached not in owners:
            error = ValueError(
                f"the adapter of model {model.name!r} must be attached while the model itself is used, got it "
                "detached: call task.adapter.attach(), or use the task's own methods, which attach it for each call; "
                "task.drop_adapter() gives it up"
            )
            # Else Keras would put a page about the arguments of the layer around it.
            error._keras_call_info_injected = True  # type: ignore[attr-defined]
            raise error

    def exchange(self, adapter: Attachable | None) -> None:
        """Attaches an adapter, or detaches it with None; waits until no call runs with the former adapter."""
        with self._exchange:
            self._wait_until_unused()
            self._switch(adapter)

    @contextlib.contextmanager
    def using(self, adapter: Attachable | None) -> Iterator[None]:
        """A context in which `adapter` is attached, or none; other threads can neither change that nor run a model."""
        with self._exchange:
            self._wait_until_unused()
            before = self.attached
            self._switch(adapter)
            try:
                yield
            finally:
                self._switch(before)

    @contextlib.contextmanager
    def answering(self, adapter: Attachable | None) -> Iterator[None]:
        """Like `using`, but threads that need the same adapter run side by side.

        `using` and `exchange` must not be called within it: they wait for its end.
        """
        with self._exchange:
            if self.attached is not adapter:
                with self.using(adapter):
                    yield
                return
            with self._all_left:
                self._shared += 1
        try:
            yield
        finally:
            with self._all_left:
                self._shared -= 1
                self._all_left.notify_all()

    def forget_traces(self) -> None:
        """Makes every model on the encoder trace its functions again."""
        for model in self._seen_models():
            model.train_function = model.test_function = model.predict_function = None
            _compiled_functions(model).clear()

    def _wait_until_unused(self) -> None:
        with self._all_left:
            self._all_left.wait_for(lambda: not self._shared)

    def _switch(self, adapter: Attachable | None) -> None:
        before = self.attached
        if before is adapter:
            return
        if before is not None:
            before.remove()
        self.attached = None
        if adapter is not None:
            adapter.insert()
            with self._sets_lock:
                self._adapters.add(adapter)
        self.attached = adapter
        for model in self._seen_models():
            functions = _compiled_functions(model)
            functions.store(model, before)
            functions.restore(model, adapter)

    def _seen_models(self) -> list[keras.Model]:
        with self._sets_lock:
            return list(self._models)


class _NoAdapter:
    """The key of functions that were compiled for the encoder alone."""


_NO_ADAPTER = _NoAdapter()


class _CompiledFunctions:
    """The functions that Keras compiled for a model, by the adapter that was attached then."""

    def __init__(self) -> None:
        self._by_adapter: weakref.WeakKeyDictionary[Any, tuple[Any, Any, Any, Any]] = weakref.WeakKeyDictionary()

    def store(self, model: keras.Model, adapter: Attachable | None) -> None:
        functions = (model.train_function, model.test_function, model.predict_function)
        self._by_adapter[adapter or _NO_ADAPTER] = (_compilation(model), *functions)

    def restore(self, model: keras.Model, adapter: Attachable | None) -> None:
        """Sets those of an adapter; None where there are none, or `model.compile` was called since."""
        compilation, *functions = self._by_adapter.pop(adapter or _NO_ADAPTER, (None, None, None, None))
        if compilation is not _compilation(model):
            functions = [None, None, None]
        model.train_function, model.test_function, model.predict_function = functions

    def clear(self) -> None:
        self._by_adapter.clear()


def _compilation(model: keras.Model) -> Any:
    """An object that every `model.compile` creates; None before the first call."""
    return getattr(model, "_compile_config", None)


def _compiled_functions(model: keras.Model) -> _CompiledFunctions:
    # They hold the model, so they stand in it: elsewhere they would keep it alive as long as its encoder.
    functions: _CompiledFunctions | None = getattr(model, "_functions_by_adapter", None)
    if functions is None:
        functions = model._functions_by_adapter = _CompiledFunctions()
    return functions
