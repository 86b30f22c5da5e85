"""Layers of a Keras model in the names of what a file computes."""

import re
from collections.abc import Iterable


def make_layer_pattern(layer: str) -> str:
    """A regular expression for a layer's place, as `block_0/attention/key`, within the name of a tensor.

    Tensors are called after the layers that make them, and each part of a path may have a number behind it.

    Examples:
        >>> pattern = make_layer_pattern("block_0/attention/key")
        >>> re.search(pattern, "classification/block_0_1/attention_1/key_1/MatMul") is not None
        True
    """
    return "/".join(rf"{re.escape(part)}(_\d+)?" for part in layer.split("/"))


def is_head_float(float_layers: Iterable[str]) -> bool:
    """Whether one of the layers that stay float stands on the encoder itself: the one that makes the answer.

    Examples:
        >>> is_head_float(["classifier"]), is_head_float(["block_0/attention/key"])
        (True, False)
    """
    return any("/" not in layer for layer in float_layers)
