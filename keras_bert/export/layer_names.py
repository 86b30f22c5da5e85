"""Finds layers of a Keras model by the names of the tensors in an exported file."""

import re
from collections.abc import Iterable

# The layer that scales vectors to length 1. It stays float in every recipe: on an integer grid lengths would be off.
NORMALIZATION = "normalization"


def make_layer_pattern(layer: str) -> str:
    """Makes a regular expression that finds a layer's path, such as `block_0/attention/key`, in a tensor's name.

    Tensors are named after the layers that make them; each part of the path may have a numeric suffix.
    """
    return "/".join(rf"{re.escape(part)}(_\d+)?" for part in layer.split("/"))


def is_head_float(float_layers: Iterable[str]) -> bool:
    """True if the model's head is among the float layers: a layer outside blocks has no "/" in its path."""
    return any("/" not in layer for layer in float_layers)
