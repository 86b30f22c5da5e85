"""The Keras models that share an encoder: their compiled functions, and the adapter that is attached."""

from typing import Any

import keras

from keras_bert.layers.adapters import PromptPlaces
from keras_bert.layers.attachments import Attachments


def attachments_of(model: Any) -> Attachments | None:
    """The attachments of a model's encoder; None where the model is a file in another runtime, or has no encoder.

    Examples:
        >>> adapter = task.adapt(keras_bert.Lora(rank=2))
        >>> attachments_of(task.model).attached is adapter
        True
    """
    layers = model.layers if isinstance(model, keras.Model) else ()
    return next((layer.attachments for layer in layers if isinstance(layer, PromptPlaces)), None)


def check_attached(model: keras.Model) -> None:
    """Refuses a model whose adapter is detached: it would be read, changed or trained without the adapter.

    Raises:
        ValueError: the adapter is detached.

    Examples:
        >>> check_attached(task.model)
        >>> task.adapt(keras_bert.Lora(rank=2)).detach()
        >>> check_attached(task.model)
        Traceback (most recent call last):
        ...
        ValueError: the adapter of model 'classification' must be attached while the model itself is used, ...
    """
    for attachments in _all_attachments(model):
        attachments.check_attached(model)


def forget_traces(model: keras.Model) -> None:
    """Makes `fit`, `evaluate` and `predict` of a model, and of all others on its encoder, trace their graphs again.

    Call it after a change of a layer that they share.

    Examples:
        >>> _ = task.model.predict_on_batch(task.encode(["film"]))
        >>> forget_traces(task.model)
        >>> task.model.predict_function is None
        True
    """
    model.train_function = model.test_function = model.predict_function = None
    for attachments in _all_attachments(model):
        attachments.forget_traces()


def _all_attachments(model: keras.Model) -> list[Attachments]:
    """The attachments of each encoder in a model: a joint model has a generator and a discriminator."""
    return [layer.attachments for layer in model._flatten_layers() if isinstance(layer, PromptPlaces)]
