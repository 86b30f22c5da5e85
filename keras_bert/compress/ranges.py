"""Activation ranges, which quantization-aware training learns and the export needs."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import keras
import tensorflow as tf

from keras_bert.layers.embeddings import PositionEmbedding, TokenEmbedding
from keras_bert.layers.tap import SEPARATOR, Tap, taps_of
from keras_bert.models.traces import transformed
from keras_bert.options.quantization import Recipe

# Ends of the paths of taps behind an operation that must stay float. The TFLite converter quantizes an operation if all
# its inputs and outputs are quantized, unless a product with `SEPARATOR` is between the operation and the tap.
SEPARATED = ("context_tap", "activation_tap", "pooled_tap")

# Ends of the paths of taps whose grid is symmetric around 0 with 8 bits, too: OpenVINO multiplies queries and keys as
# integers if 0 is the middle of both grids.
CENTRED = ("query_tap", "key/output_tap")

# Grids of 16 bits are this many times as wide as the range of the calibration rows. Later texts exceed it, as in the
# inverse deviation of a LayerNorm, and clipping there changes the answer by far more than wider steps do.
HEADROOM = 1.5

Part = TypeVar("Part")

# Path of a tap -> smallest and largest value of its quantization grid.
Ranges = dict[str, tuple[float, float]]


def sublayers(model: keras.Model, kind: type[keras.layers.Layer]) -> dict[str, keras.layers.Layer]:
    """Returns all layers of a class, nested ones too, by path, in the order of the graph."""
    layers = model._flatten_layers(include_self=False, recursive=True)
    return _by_path((layer.path, layer) for layer in layers if isinstance(layer, kind))


def taps(model: keras.Model) -> dict[str, Tap]:
    """Returns all taps, nested ones too, by path, in the order of the graph."""
    layers = model._flatten_layers(include_self=False, recursive=True)
    return _by_path(pair for layer in layers for pair in taps_of(layer).items())


def table_taps(model: keras.Model) -> dict[str, keras.layers.Layer]:
    """Returns the tables of tokens and positions, by the paths of the taps behind them."""
    tables = (sublayers(model, kind) for kind in (TokenEmbedding, PositionEmbedding))
    return {f"{path}/output_tap": layer for layers in tables for path, layer in layers.items()}


def int8_tables(model: keras.Model, recipe: Recipe) -> dict[str, keras.layers.Layer]:
    """Returns the tables of `table_taps` that get an int8 grid in training; none in recipes without integers.

    If all activations are integers, position tables are left out: they are an operand of a sum of integers, and the
    quantizer of the file rounds them.
    """
    if not recipe.integers:
        return {}
    kinds = TokenEmbedding if recipe.activations == "all" else (TokenEmbedding, PositionEmbedding)
    return {path: layer for path, layer in table_taps(model).items() if isinstance(layer, kinds)}


def is_symmetric(bits: int) -> bool:
    """True if the quantization grid of activations is symmetric around 0: LiteRT has no other grids of 16 bits.

    Source: LiteRT's 8-bit quantization specification, and its section on 16-bit activations with 8-bit weights.
    """
    return bits == 16


def _by_path(parts: Iterable[tuple[str, Part]]) -> dict[str, Part]:
    by_path: dict[str, Part] = {}
    for path, part in parts:
        if by_path.setdefault(path, part) is not part:
            raise ValueError(f"the path of a layer or tap must be unique, got {path!r} twice")
    return by_path


@contextlib.contextmanager
def fixed_ranges(model: keras.Model, ranges: Mapping[str, tuple[float, float]], bits: int = 8) -> Iterator[None]:
    """Inside the block, the model's activations are quantized with fixed ranges: to 8 or 16 bits, tables to 8."""
    model_taps, tables = taps(model), table_taps(model)
    for path, (low, high) in ranges.items():
        if path not in model_taps:
            raise ValueError(f"ranges must name taps of the model, got {path!r}")
        if not low <= 0 <= high or low == high:
            raise ValueError(f"the range of {path} must span zero and more, got [{low}, {high}]")

    def round_at(path: str, x: tf.Tensor, training: bool) -> tf.Tensor:
        single = tf.cast(x, tf.float32)
        separated = single * SEPARATOR if path.endswith(SEPARATED) else single
        tap_bits, (low, high) = 8 if path in tables else bits, ranges[path]
        quantized = tf.quantization.fake_quant_with_min_max_args(separated, low, high, tap_bits, is_symmetric(tap_bits))
        return tf.cast(quantized, x.dtype)

    with transformed(model, {model_taps[path]: functools.partial(round_at, path) for path in ranges}):
        yield
