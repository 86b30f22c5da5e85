"""Layers of a Keras model in the names of what a file computes."""

import re


def layer_pattern(layer: str) -> str:
    """A regular expression for a layer's place, as `block_0/attention/key`, within the name of a tensor.

    Tensors are called after the layers that make them, and each part of a path may have a number behind it.
    """
    return "/".join(rf"{re.escape(part)}(_\d+)?" for part in layer.split("/"))
