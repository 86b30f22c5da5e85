"""Attaches an adapter to a layer that is built already, and detaches it."""

import keras


def fill(layer: keras.layers.Layer, adapter: keras.layers.Layer) -> None:
    """Attaches `adapter` to a layer, which then calls it; its weights are among those of the model.

    Raises:
        ValueError: the layer has an adapter already.
    """
    if layer.adapter is not None:
        raise ValueError(f"layer {layer.path!r} must have no adapter yet, got one; detach that first")
    # Keras has no public way to add to a layer that is built; its own `Dense.enable_lora` does the same.
    layer._tracker.unlock()
    layer.adapter = adapter
    layer._tracker.lock()


def clear(layer: keras.layers.Layer) -> None:
    """Detaches the adapter of a layer."""
    layer._tracker.untrack(layer.adapter)
    layer.adapter = None
