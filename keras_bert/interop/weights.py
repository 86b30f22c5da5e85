"""Copies weights between models and the tensors of other libraries."""

import difflib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import hint_of_pointer
from keras_bert.families.hugging_face import Fused
from keras_bert.interop.names import Foreign, TensorNames

if TYPE_CHECKING:
    import keras

Array = np.ndarray[Any, Any]

POOLER_LAYER = "pooler/dense"
POOLER = (f"{POOLER_LAYER}/kernel", f"{POOLER_LAYER}/bias")

# Name of our weight -> the likely cause of a wrong shape.
_CAUSES = {
    "token_embedding/embeddings": "the vocabulary or the configuration is another model's",
    "position_embedding/embeddings": "the configuration is another model's; tables are never cut",
}
_SHOWN = 5
_LONGEST_CAUSE = 200
# ALBERT has 24 at most (Lan et al. 2020, table 1).
_MOST_SHARED_LAYERS = 128


class Tensors(Mapping[str, Array]):
    """Tensors by name, each read from its file on access."""

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


def damaged_file(path: Path, kind: str, error: Exception) -> ValueError:
    """The error for a file of weights, of a kind, that cannot be read."""
    cause = hint_of_pointer(path) or "; the download was likely cut short"
    reason = " ".join(str(error).split())[:_LONGEST_CAUSE]
    return ValueError(f"{path} is not a whole {kind} ({path.stat().st_size} bytes): {reason}{cause}")


def read_weights(
    model: "keras.Model",
    tensors: Mapping[str, Array],
    form: TensorNames,
    *,
    source: str = "the checkpoint",
    ignored: Collection[str] = (),
) -> None:
    """Assigns the tensors of another library's file to the weights of a model.

    `source` names the owner of the tensors, for messages; tensors with `ignored` names are skipped.
    """
    from keras_bert.layers.regression_head import plain_weights

    weights = plain_weights(model)
    names = form.names([weight.path for weight in weights])
    _check_names([foreign.name for foreign in names.values()], tensors, source, ignored)
    for weight in weights:
        foreign = names[weight.path]
        array = as_float32(tensors[foreign.name], foreign.name, source)
        shape = _split_windows(tuple(weight.shape), foreign)
        shape = shape[::-1] if foreign.transposed else shape
        if array.shape != shape:
            cause = _CAUSES.get(weight.path, "the configuration is another model's (wrong preset)")
            raise ValueError(
                f"{source}: tensor {foreign.name!r} must have the shape {shape} of the configuration, "
                f"got {array.shape}; likely {cause}"
            )
        if not np.isfinite(array).all():
            raise ValueError(
                f"{source}: tensor {foreign.name!r} must hold finite numbers, got {np.isnan(array).sum()} NaN and "
                f"{np.isinf(array).sum()} infinite of {array.size}"
            )
        weight.assign((array.T if foreign.transposed else array).reshape(weight.shape))


def write_weights(model: "keras.Model", form: TensorNames) -> dict[str, Array]:
    """The weights of a model in float32, by their names in another library, as `read_weights` reads them."""
    from keras_bert.layers.regression_head import folded_heads, plain_weights

    weights, folded = plain_weights(model), folded_heads(model)
    names = form.names([weight.path for weight in weights])
    written = {}
    for weight in weights:
        foreign = names[weight.path]
        values = np.asarray(folded.get(weight.path, weight.numpy()), "float32")
        array = values.reshape(_split_windows(tuple(weight.shape), foreign))
        written[foreign.name] = np.ascontiguousarray(array.T if foreign.transposed else array)
    return written


def zero_pooler(form: TensorNames, hidden_size: int) -> dict[str, Array]:
    """Weights of a pooler of zeros, for libraries whose models always have a pooler.

    Its output is 0 for every text, so that nobody takes it for a trained pooler; `has_pooler` recognizes it.
    """
    kernel, bias = form.names(POOLER).values()
    return {
        kernel.name: np.zeros((hidden_size, hidden_size), "float32"),
        bias.name: np.zeros(hidden_size, "float32"),
    }


def has_pooler(tensors: Mapping[str, Array], form: TensorNames) -> bool:
    """True if a file holds a pooler other than `zero_pooler`."""
    if POOLER_LAYER not in form.stems:
        return False
    names = [foreign.name for foreign in form.names(POOLER).values()]
    present = [name for name in names if name in tensors]
    return len(present) == 1 or any(np.any(tensors[name]) for name in present)


def check_layers(config: EncoderConfig, tensors: Mapping[str, Array], source: str) -> None:
    """Checks before a model is built that each layer has tensors, unless all layers share theirs."""
    most, than = len(tensors), "than there are tensors,"
    if config.shared_layers:
        most, than = _MOST_SHARED_LAYERS, "with shared tensors than"
    if config.num_layers > most:
        raise ValueError(f"{source}: the configuration must have no more layers {than} {most}, got {config.num_layers}")


def as_float32(array: Array, name: str, source: str) -> Array:
    """Converts a tensor of floating point numbers to float32, which only rounds float64."""
    kind = array.dtype.name
    if kind not in ("float64", "float32", "float16", "bfloat16"):
        raise ValueError(f"{source}: tensor {name!r} must hold float32, float16 or bfloat16, got {kind}")
    return array.astype("float32", copy=False)


def _split_windows(shape: tuple[int, ...], foreign: Foreign) -> tuple[int, ...]:
    return (shape[0] // shape[1], shape[1], shape[1]) if foreign.windowed else shape


def _check_names(expected: Collection[str], present: Collection[str], source: str, ignored: Collection[str]) -> None:
    missing = [name for name in expected if name not in present]
    unexpected = sorted(set(present) - {*expected, *ignored})
    if not missing and not unexpected:
        return
    parts = []
    if missing:
        parts.append(f"lacks {_list_names(missing, unexpected)}")
    if unexpected:
        parts.append(f"holds {_list_names(unexpected, missing)}, which the model does not have")
    raise ValueError(
        f"{source} {' and '.join(parts)}; likely tensors were renamed, or the configuration is another model's"
    )


def _list_names(names: list[str], others: list[str]) -> str:
    """The first few names, each with a similar name among the others."""
    shown = []
    for name in names[:_SHOWN]:
        near = difflib.get_close_matches(name, others, n=1, cutoff=0.8)
        shown.append(f"{name!r} (nearest: {near[0]!r})" if near else repr(name))
    more = len(names) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


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
            groups = heads if match.by_head else 1
            loaders[stem + part] = functools.partial(_take_part, tensors, name, groups, len(match.parts), index)
    return Tensors(loaders)


def join(tensors: Mapping[str, Array], fused: Sequence[Fused], heads: int) -> dict[str, Array]:
    """Joins the parts of fused tensors: the inverse of `split`."""
    joined = dict(tensors)
    for tensor in fused:
        stems = [name.removesuffix(tensor.parts[0]) for name in tensors if name.endswith(tensor.parts[0])]
        for stem in stems:
            parts = [joined.pop(stem + part) for part in tensor.parts]
            grouped = [part.reshape(heads if tensor.by_head else 1, -1, *part.shape[1:]) for part in parts]
            joined[stem + tensor.whole] = np.concatenate(grouped, axis=1).reshape(-1, *parts[0].shape[1:])
    return joined


def _take_part(tensors: Mapping[str, Array], name: str, heads: int, count: int, index: int) -> Array:
    array = tensors[name]
    if not array.ndim or array.shape[0] % (heads * count):
        raise ValueError(
            f"tensor {name!r} must have rows for {heads} heads of {count} parts each, got the shape {array.shape}; "
            "likely the configuration is another model's"
        )
    return array.reshape(heads, count, -1, *array.shape[1:])[:, index].reshape(-1, *array.shape[1:])
