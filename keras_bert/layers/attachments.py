"""The adapter that is attached to an encoder, and the Keras models that share this encoder."""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

import keras


class Attachable(Protocol):
    """The methods of an adapter that `Attachments` calls."""

    def insert(self) -> None:
        """Inserts the adapter's layers and weights into the encoder."""

    def remove(self) -> None:
        """Removes the adapter's layers and weights from the encoder."""

    def owns(self, model: keras.Model) -> bool:
        """True if a model contains the head that was trained together with the adapter."""


class Attachments:
    """Attaches adapters to an encoder, at most one at a time, and tracks the Keras models that share the encoder.

    Several models may share an encoder: the models of several tasks, and the encoder itself. Keras compiles `fit`,
    `evaluate` and `predict` of each model once, with the layers that the encoder has at that time. Therefore the
    compiled functions of all models are exchanged together with the adapter: none runs with a detached adapter.
    """

    def __init__(self) -> None:
        self.attached: Attachable | None = None
        # The tasks whose quantization grids the weights of the encoder lie on.
        self.quantized: weakref.WeakSet[Any] = weakref.WeakSet()
        self._adapters: weakref.WeakSet[Attachable] = weakref.WeakSet()
        self._models: weakref.WeakSet[keras.Model] = weakref.WeakSet()
        self._sets_lock = threading.Lock()
        # Held while an adapter is exchanged, and by `using` until the previous adapter is attached again.
        self._exchange = threading.RLock()
        self._shared = 0
        self._all_left = threading.Condition()

    def discard(self, adapter: Attachable) -> None:
        """Forgets an adapter that was merged or dropped: models with its head may run without it from then on."""
        with self._sets_lock:
            self._adapters.discard(adapter)

    def adapters(self) -> list[Attachable]:
        """All adapters that were ever attached, except those that were merged or dropped since."""
        with self._sets_lock:
            return list(self._adapters)

    def enter(self, model: Any) -> None:
        """Registers a model that contains the encoder, when the model is called or traced."""
        if isinstance(model, keras.Model):
            with self._sets_lock:
                self._models.add(model)
            self.check_attached(model)

    def check_attached(self, model: keras.Model) -> None:
        """Raises if a model's head belongs to an adapter, and this adapter is detached."""
        owners = [adapter for adapter in self.adapters() if adapter.owns(model)]
        if owners and self.attached not in owners:
            error = ValueError(
                f"the adapter of model {model.name!r} must be attached while the model itself is used, got it "
                "detached: call task.adapter.attach(), or use the task's own methods, which attach it for each call; "
                "task.drop_adapter() gives it up"
            )
            # Without this mark Keras adds a page about the layer's arguments to the message.
            error._keras_call_info_injected = True  # type: ignore[attr-defined]
            raise error

    def exchange(self, adapter: Attachable | None) -> None:
        """Attaches an adapter, or detaches it with None; waits until no call runs with the previous adapter."""
        with self._exchange:
            self._wait_until_unused()
            self._switch(adapter)

    @contextlib.contextmanager
    def using(self, adapter: Attachable | None) -> Iterator[None]:
        """A context in which `adapter` (or none) is attached; other threads can neither exchange it nor run a model."""
        with self._exchange:
            self._wait_until_unused()
            before = self.attached
            self._switch(adapter)
            try:
                yield
            finally:
                self._switch(before)

    @contextlib.contextmanager
    def sharing(self, adapter: Attachable | None) -> Iterator[None]:
        """Like `using`, but threads that need the same adapter run concurrently.

        Do not call `using` or `exchange` within this context: they wait for its end.
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
        """Makes every model that contains the encoder trace its functions again."""
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
    """The key of functions that were compiled without an adapter."""


_NO_ADAPTER = _NoAdapter()


class _CompiledFunctions:
    """The functions that Keras compiled for a model, by the adapter that was attached at that time."""

    def __init__(self) -> None:
        self._by_adapter: weakref.WeakKeyDictionary[Any, tuple[Any, Any, Any, Any]] = weakref.WeakKeyDictionary()

    def store(self, model: keras.Model, adapter: Attachable | None) -> None:
        functions = (model.train_function, model.test_function, model.predict_function)
        self._by_adapter[adapter or _NO_ADAPTER] = (_compilation(model), *functions)

    def restore(self, model: keras.Model, adapter: Attachable | None) -> None:
        """Sets the functions of an adapter; None if there are none, or if `model.compile` was called since."""
        compilation, *functions = self._by_adapter.pop(adapter or _NO_ADAPTER, (None, None, None, None))
        if compilation is not _compilation(model):
            functions = [None, None, None]
        model.train_function, model.test_function, model.predict_function = functions

    def clear(self) -> None:
        self._by_adapter.clear()


def _compilation(model: keras.Model) -> Any:
    """An object that each `model.compile` replaces; None before the first."""
    return getattr(model, "_compile_config", None)


def _compiled_functions(model: keras.Model) -> _CompiledFunctions:
    # An attribute of the model, because the functions refer to it: stored here, they would keep the model alive as
    # long as its encoder.
    functions: _CompiledFunctions | None = getattr(model, "_functions_by_adapter", None)
    if functions is None:
        functions = model._functions_by_adapter = _CompiledFunctions()
    return functions
