"""A model's weights out of the tensors of a foreign file, and back."""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.interop.names import Foreign, Format

Array = np.ndarray[Any, Any]

POOLER_LAYER = "pooler/dense"
POOLER = (f"{POOLER_LAYER}/kernel", f"{POOLER_LAYER}/bias")

# What a mismatch of shapes most likely means, by our weight.
_CAUSES = {
    "token_embedding/embeddings": "the vocabulary or the configuration is another model's",
    "position_embedding/embeddings": "the configuration is another model's; tables are never cut",
}
_SHOWN = 5


class Tensors(Mapping[str, Array]):
    """Tensors by name, each read when it is asked for."""

    def __init__(self, loaders: Mapping[str, Callable[[], Array]]) -> None:
        self._loaders = dict(loaders)

    def __getitem__(self, name: str) -> Array:
        return self._loaders[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._loaders

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)


def read_weights(
    model: keras.Model,
    tensors: Mapping[str, Array],
    form: Format,
    *,
    source: str = "the checkpoint",
    ignored: Collection[str] = (),
) -> None:
    """Fills a model with the tensors of a foreign file.

    Args:
        model: of this library's layers, built for the checkpoint's configuration.
        tensors: by their foreign names.
        form: whose names these are.
        source: of the tensors, for messages.
        ignored: foreign names that may be there though the model has nothing for them.

    Raises:
        ValueError: a tensor is missing, is not one of the model's, has another shape, holds no float32,
            float16 or bfloat16, or holds NaN or an infinity. The model is then filled in part.
    """
    names = form.names([weight.path for weight in model.weights])
    _check_names([foreign.name for foreign in names.values()], tensors, source, ignored)
    for weight in model.weights:
        foreign = names[weight.path]
        array = as_float32(tensors[foreign.name], foreign.name, source)
        wanted = _turned(tuple(weight.shape), foreign)
        if array.shape != wanted:
            cause = _CAUSES.get(weight.path, "the configuration is another model's (wrong preset)")
            raise ValueError(
                f"{source}: tensor {foreign.name!r} must have the shape {wanted} that the configuration "
                f"asks for, got {array.shape}; likely {cause}"
            )
        if not np.isfinite(array).all():
            raise ValueError(
                f"{source}: tensor {foreign.name!r} must hold finite numbers, got {np.isnan(array).sum()} NaN and "
                f"{np.isinf(array).sum()} infinite of {array.size}"
            )
        weight.assign((array.T if foreign.transposed else array).reshape(weight.shape))


def write_weights(model: keras.Model, form: Format) -> dict[str, Array]:
    """The weights of a model by their foreign names, float32; what `read_weights` reads.

    Raises:
        ValueError: the format has no name for a weight.
    """
    names = form.names([weight.path for weight in model.weights])
    written = {}
    for weight in model.weights:
        foreign = names[weight.path]
        array = np.asarray(weight.numpy(), "float32").reshape(_apart(tuple(weight.shape), foreign))
        written[foreign.name] = np.ascontiguousarray(array.T if foreign.transposed else array)
    return written


def zero_pooler(form: Format, hidden_size: int) -> dict[str, Array]:
    """What stands for the pooler of a model that has none, where the other library always makes one.

    Its output is 0 for every text, so that nobody takes it for one that was trained; `has_pooler` tells it.
    """
    kernel, bias = form.names(POOLER).values()
    return {
        kernel.name: np.zeros((hidden_size, hidden_size), "float32"),
        bias.name: np.zeros(hidden_size, "float32"),
    }


def has_pooler(tensors: Mapping[str, Array], form: Format) -> bool:
    """Whether a file holds a pooler, and not only the zeros of `zero_pooler`."""
    if POOLER_LAYER not in form.stems:
        return False
    names = [foreign.name for foreign in form.names(POOLER).values()]
    held = [name for name in names if name in tensors]
    return len(held) == 1 or any(np.any(tensors[name]) for name in held)


def as_float32(array: Array, name: str, source: str) -> Array:
    """A tensor in float32; no value of float16 or bfloat16 is lost by it.

    Raises:
        ValueError: it holds another type.
    """
    kind = array.dtype.name
    if kind not in ("float32", "float16", "bfloat16"):
        raise ValueError(f"{source}: tensor {name!r} must hold float32, float16 or bfloat16, got {kind}")
    return array.astype("float32", copy=False)


def _apart(shape: tuple[int, ...], foreign: Foreign) -> tuple[int, ...]:
    return (shape[0] // shape[1], shape[1], shape[1]) if foreign.windowed else shape


def _turned(shape: tuple[int, ...], foreign: Foreign) -> tuple[int, ...]:
    apart = _apart(shape, foreign)
    return apart[::-1] if foreign.transposed else apart


def _check_names(wanted: Collection[str], held: Collection[str], source: str, ignored: Collection[str]) -> None:
    missing = [name for name in wanted if name not in held]
    known = {*wanted, *ignored}
    unexpected = sorted(name for name in held if name not in known)
    if not missing and not unexpected:
        return
    parts = []
    if missing:
        parts.append(f"lacks {_listed(missing, unexpected)}")
    if unexpected:
        parts.append(f"holds {_listed(unexpected, missing)}, which the model has no place for")
    raise ValueError(
        f"{source} {' and '.join(parts)}; likely tensors were renamed, or the configuration is another model's"
    )


def _listed(names: list[str], others: list[str]) -> str:
    """The first few names, each with the one that it may have been mistaken for."""
    shown = []
    for name in names[:_SHOWN]:
        near = difflib.get_close_matches(name, others, n=1, cutoff=0.8)
        shown.append(f"{name!r} (nearest: {near[0]!r})" if near else repr(name))
    more = len(names) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
