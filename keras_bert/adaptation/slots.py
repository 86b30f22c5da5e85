"""Putting a layer beside one that is built already, and taking it away again."""

import keras


def fill(layer: keras.layers.Layer, adapter: keras.layers.Layer) -> None:
    """Makes `adapter` the layer's own: it is called, and its weights are among those of the model.

    Raises:
        ValueError: the layer has one already.
    """
    if layer.adapter is not None:
        raise ValueError(f"layer {layer.path!r} must have no adapter yet, got one; detach that first")
    # Keras has no public way to add to a layer that is built; its own `Dense.enable_lora` does the same.
    layer._tracker.unlock()
    layer.adapter = adapter
    layer._tracker.lock()


def clear(layer: keras.layers.Layer) -> None:
    """The layer is as it was."""
    layer._tracker.untrack(layer.adapter)
    layer.adapter = None
