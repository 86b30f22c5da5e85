"""Finds the adapter of a model's encoder, and resets the compiled functions of all models that share the encoder."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras

from keras_bert.layers.adapters import PromptPlaces
from keras_bert.layers.attachments import Attachments
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap

# The attribute of a `tf.function` without which it warns that it is traced often; eager functions have none.
_NO_WARNING = "_omit_frequent_tracing_warning"


def attachments_of(model: Any) -> Attachments | None:
    """The attachments of a model's encoder; None if it has no encoder, or is a model file in another runtime."""
    layers = model.layers if isinstance(model, keras.Model) else ()
    return next((layer.attachments for layer in layers if isinstance(layer, PromptPlaces)), None)


def check_attached(model: keras.Model) -> None:
    """Raises if the adapter that a model needs is detached: the model would be used or trained without it."""
    for attachments in _all_attachments(model):
        attachments.check_attached(model)


def forget_traces(model: keras.Model) -> None:
    """Makes `fit`, `evaluate` and `predict` trace their graphs again, in a model and all models that share its encoder.

    Call it after a change of a shared layer.
    """
    model.train_function = model.test_function = model.predict_function = None
    for attachments in _all_attachments(model):
        attachments.forget_traces()


def expect_traces(model: keras.Model) -> None:
    """Stops the warning that `predict` is traced often: batches have a few shapes, each of which is traced once."""
    model.make_predict_function()
    if hasattr(model.predict_function, _NO_WARNING):
        setattr(model.predict_function, _NO_WARNING, True)


@contextlib.contextmanager
def transformed(model: keras.Model, transforms: Mapping[Tap | Dense, Callable[..., Any] | None]) -> Iterator[None]:
    """Inside the block, taps and kernels of a model have other transforms; None for none."""
    attributes = {part: "transform" if isinstance(part, Tap) else "kernel_transform" for part in transforms}
    before = {part: getattr(part, name) for part, name in attributes.items()}
    try:
        for part, name in attributes.items():
            setattr(part, name, transforms[part])
        forget_traces(model)
        yield
    finally:
        for part, name in attributes.items():
            setattr(part, name, before[part])
        forget_traces(model)


def _all_attachments(model: keras.Model) -> list[Attachments]:
    """The attachments of each encoder in the model; ELECTRA's training model has two."""
    return [layer.attachments for layer in model._flatten_layers() if isinstance(layer, PromptPlaces)]
