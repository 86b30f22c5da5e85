"""Splits and joins tensors of other libraries that hold several of our weights."""

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.families.hugging_face import Fused
from keras_bert.interop.weights import Array, Tensors


def split(tensors: Mapping[str, Array], fused: Sequence[Fused], heads: int) -> Tensors:
    """Splits the fused tensors of a family, with as many heads, into their parts; other tensors stay as they are."""
    loaders = {}
    for name in tensors:
        load = functools.partial(tensors.__getitem__, name)
        match = next((tensor for tensor in fused if name.endswith(tensor.whole)), None)
        if match is None:
            loaders[name] = load
            continue
        stem = name.removesuffix(match.whole)
        for index, part in enumerate(match.parts):
            loaders[stem + part] = functools.partial(_take_part, tensors, name, heads, len(match.parts), index)
    return Tensors(loaders)


def join(tensors: Mapping[str, Array], fused: Sequence[Fused], heads: int) -> dict[str, Array]:
    """Joins the parts of fused tensors: the inverse of `split`."""
    joined = dict(tensors)
    for tensor in fused:
        stems = [name.removesuffix(tensor.parts[0]) for name in tensors if name.endswith(tensor.parts[0])]
        for stem in stems:
            parts = [joined.pop(stem + part) for part in tensor.parts]
            by_head = [part.reshape(heads, -1, *part.shape[1:]) for part in parts]
            joined[stem + tensor.whole] = np.concatenate(by_head, axis=1).reshape(-1, *parts[0].shape[1:])
    return joined


def _take_part(tensors: Mapping[str, Array], name: str, heads: int, count: int, index: int) -> Array:
    """A part of a fused tensor."""
    array = tensors[name]
    if not array.ndim or array.shape[0] % (heads * count):
        raise ValueError(
            f"tensor {name!r} must have rows for {heads} heads of {count} parts each, got the shape {array.shape}; "
            "likely the configuration is another model's"
        )
    return array.reshape(heads, count, -1, *array.shape[1:])[:, index].reshape(-1, *array.shape[1:])
