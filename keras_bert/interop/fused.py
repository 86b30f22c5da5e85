"""Tensors of foreign files that hold several of ours."""

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.interop.family import Fused
from keras_bert.interop.weights import Array, Tensors


def split(tensors: Mapping[str, Array], fused: Sequence[Fused], heads: int) -> Tensors:
    """The same tensors, each part by a name of its own.

    Args:
        tensors: of a file.
        fused: what of them holds several; names that end otherwise stay.
        heads: of the attention.
    """
    loaders = {}
    for name in tensors:
        load = functools.partial(tensors.__getitem__, name)
        found = next((each for each in fused if name.endswith(each.whole)), None)
        if found is None:
            loaders[name] = load
            continue
        stem = name.removesuffix(found.whole)
        for index, part in enumerate(found.parts):
            loaders[stem + part] = functools.partial(_take_part, tensors, name, heads, len(found.parts), index)
    return Tensors(loaders)


def join(tensors: Mapping[str, Array], fused: Sequence[Fused], heads: int) -> dict[str, Array]:
    """What `split` makes into these tensors."""
    joined = dict(tensors)
    for each in fused:
        stems = [name.removesuffix(each.parts[0]) for name in tensors if name.endswith(each.parts[0])]
        for stem in stems:
            parts = [joined.pop(stem + part) for part in each.parts]
            by_head = [part.reshape(heads, -1, *part.shape[1:]) for part in parts]
            joined[stem + each.whole] = np.concatenate(by_head, axis=1).reshape(-1, *parts[0].shape[1:])
    return joined


def _take_part(tensors: Mapping[str, Array], name: str, heads: int, count: int, index: int) -> Array:
    """One of the parts of a tensor.

    Raises:
        ValueError: the tensor cannot be cut into so many heads and parts.
    """
    array = tensors[name]
    if not array.ndim or array.shape[0] % (heads * count):
        raise ValueError(
            f"tensor {name!r} must have rows for {heads} heads of {count} parts each, got the shape {array.shape}; "
            "likely the configuration is another model's"
        )
    return array.reshape(heads, count, -1, *array.shape[1:])[:, index].reshape(-1, *array.shape[1:])
