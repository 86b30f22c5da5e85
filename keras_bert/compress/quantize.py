"""Quantization-aware training (Jacob et al. 2018, section 3) with the quantizers of tfmot, on Keras 3.

The model is not copied or rewritten: its taps and kernels get transforms, which `finish` removes.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.fake_quantizers import (
    ActivationQuantizer,
    Float16Kernel,
    KernelQuantizer,
    TableQuantizer,
    quantize_rows,
)
from keras_bert.compress.ranges import CENTRED, Ranges, int8_tables, sublayers, table_taps, taps
from keras_bert.core.checks import nearest_name
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import Tap
from keras_bert.models.encoder import top_layers
from keras_bert.models.traces import check_attached, forget_traces, transformed
from keras_bert.options.quantization import RECIPES, Recipe, RecipeName

# Ends of the paths of the taps that stay float where activations are quantized around products. Products with
# weights read and write int8; attention, residual sums, GELU, tanh and LayerNorm between them run in float: XNNPACK
# knows them in float only, and LiteRT's own integer kernels take longer (an L4 H256 at 128 tokens: 4.9 ms, against
# 2.0 ms this way and 8.5 ms in float32). The query stays float, too, so that LiteRT folds its scaling into the
# projection.
FLOAT_TAPS = ("query/output_tap", "scores_tap", "probabilities_tap", "sum_tap", "pooler/output_tap")
# Ends of the paths of the taps whose tensors are the inputs of products with kernels.
PRODUCT_INPUT_TAPS = (
    "embeddings_norm_tap",
    "attention_norm_tap",
    "feed_forward_norm_tap",
    "context_tap",
    "activation_tap",
)
# Ends of the paths of the taps on vectors that do not depend on the model's inputs, in addition to `table_taps`. They
# are constants in a file, and have a learned range even in recipes that measure the ranges of activations at run time.
CONSTANT_TAPS = ("relative_embedding/output_tap",)


class QuantizationAware:
    """Fake quantization of a model's kernels and activations by a recipe, in training and inference.

    Kernels are quantized symmetrically, with scales computed at every call; activations with one range for each tap, a
    moving average over the training batches. Gradients pass straight through.
    Train the model as usual, then call `finish`. Until then every call of the model is quantized, and `training=True`
    also updates the ranges.

    The model has this package's layers; under `tf.distribute`, make this object in the same scope. `batches` are model
    inputs that calibrate the initial ranges; varied texts are better. Products of `float_layers`, by path, stay float.
    `kernels` are the layers with a quantized kernel, by path.
    """

    def __init__(
        self,
        model: keras.Model,
        batches: Iterable[Any],
        recipe: RecipeName = "mixed_wi8_ai8",
        float_layers: Sequence[str] = (),
    ) -> None:
        check_attached(model)
        self._model, settings = model, RECIPES[recipe]
        heads = {layer.path for layer in top_layers(model) if isinstance(layer, Dense)}
        kernels = sublayers(model, Dense)
        for name in float_layers:
            if name not in kernels:
                raise ValueError(f"float_layers must be layers of the model, got {name!r}{nearest_name(name, kernels)}")
        if not settings.integers:
            largest = float(np.finfo(np.float16).max)
            for weight in model.weights:
                size = float(np.abs(np.asarray(weight, "float32")).max(initial=0.0))
                if size > largest and weight.path.rpartition("/")[0] not in float_layers:
                    raise ValueError(
                        f"{weight.path} must be from {-largest} to {largest} as float16, got a weight of {size:g}"
                    )
        unquantized = {*float_layers, *(() if settings.heads else heads)}
        self.kernels = {path: layer for path, layer in kernels.items() if path not in unquantized}
        grids: dict[str, KernelQuantizer | Float16Kernel] = {
            path: KernelQuantizer(tuple(layer.kernel.shape), settings.weight_bits, settings.block)
            if settings.integers
            else Float16Kernel()
            for path, layer in self.kernels.items()
        }
        all_taps = taps(model)
        self._tables = {path: TableQuantizer(layer) for path, layer in int8_tables(model, settings).items()}
        moving = _taps_with_ranges(all_taps.keys() - table_taps(model).keys(), heads, settings)
        float_taps = {tap for layer in float_layers for tap in taps_around(layer)}
        moving -= float_taps
        self._moving = {
            path: ActivationQuantizer(settings.activation_bits, path.endswith(CENTRED))
            for path in all_taps
            if path in moving
        }
        self._rows = product_input_taps(model, float_layers) if settings.activations == "rows" else {}
        self._taps = {path: tap for path, tap in all_taps.items() if path in self._tables or path in self._moving}
        self._calibrate(batches)
        for path, layer in self.kernels.items():
            layer.kernel_transform = grids[path]
        for path, tap in self._taps.items():
            tap.transform = self._grid(path)
        for tap in self._rows.values():
            tap.transform = quantize_rows
        forget_traces(model)

    def float_products(self, layers: Sequence[str]) -> AbstractContextManager[None]:
        """A context in which the products of some layers are float: their kernels, and the taps around them."""
        rounded = {**self._taps, **self._rows}
        kernels = [self.kernels[path] for path in layers]
        taps = [rounded[tap] for path in layers for tap in taps_around(path) if tap in rounded]
        return transformed(self._model, dict.fromkeys([*kernels, *taps]))

    def ranges(self) -> Ranges:
        """Returns the smallest and largest value of each quantized tap with a learned range, by the tap's path."""
        return {path: self._grid(path).range() for path in self._taps}

    def variables(self) -> list[tf.Variable]:
        """The variables that training updates besides the weights: the ends of the ranges."""
        return [variable for path in self._taps for variable in self._grid(path).variables()]

    def finish(self) -> Ranges:
        """Writes the quantized weights into the model, detaches from it, and returns the learned ranges.

        From here on the model is a plain one with quantized kernels and tables; its activations are float again until
        `quantized_activations` quantizes them.
        """
        for layer in self.kernels.values():
            layer.kernel.assign(layer.kernel_transform(layer.kernel))
            layer.kernel_transform = None
        for tap in (*self._taps.values(), *self._rows.values()):
            tap.transform = None
        for grid in self._tables.values():
            grid.layer.embeddings.assign(grid(grid.layer.embeddings, training=True))
        forget_traces(self._model)
        return self.ranges()

    def _grid(self, path: str) -> TableQuantizer | ActivationQuantizer:
        return self._tables[path] if path in self._tables else self._moving[path]

    def _calibrate(self, batches: Iterable[Any]) -> None:
        """Initializes each moving range with the mean over the batches.

        tfmot's moving average has a decay of 0.999 a step: from its default range it would not converge in a short
        training.
        """
        for path, grid in self._moving.items():
            self._taps[path].transform = grid.observe
        empty = True
        try:
            for batch in batches:
                empty = False
                if not self._moving:
                    break
                self._model(batch, training=False)
            if empty:
                raise ValueError("QuantizationAware.batches must hold at least one batch, got none")
        except BaseException:
            # The model outlives an error, and Ctrl-C in a notebook.
            for path in self._moving:
                self._taps[path].transform = None
            forget_traces(self._model)
            raise
        # A tap that the model does not call has no range, as those of Longformer's global tokens where there are none.
        for path in [path for path, grid in self._moving.items() if not grid.start()]:
            del self._moving[path]
            self._taps.pop(path).transform = None


def taps_around(layer: str) -> tuple[str, ...]:
    """Returns the paths of the taps of a layer's product: of its output, and of inputs that it alone reads."""
    parent, _, name = layer.rpartition("/")
    # A query is scaled after its product; an output projection is the only product that reads its input.
    beside = {"query": ["query_tap"], "output_projection": ["context_tap", "activation_tap"]}.get(name, [])
    return (f"{layer}/output_tap", *(f"{parent}/{tap}" for tap in beside))


def _taps_with_ranges(paths: Iterable[str], heads: Iterable[str], recipe: Recipe) -> set[str]:
    """Returns the taps whose tensor is quantized with a learned range."""
    if recipe.activations == "all":
        return set(paths)
    if recipe.activations == "none":
        return set()
    if recipe.activations == "rows":
        return {path for path in paths if path.endswith(CONSTANT_TAPS)}
    # Layers that make logits stay float: quantized logits would tie.
    float_taps = (*FLOAT_TAPS, *(f"{path}/output_tap" for path in heads))
    return {path for path in paths if not path.endswith(float_taps)}


def product_input_taps(model: keras.Model, float_layers: Sequence[str] = ()) -> dict[str, Tap]:
    """The taps, by path, whose tensors are the inputs of quantized products with kernels."""
    float_taps = {tap for layer in float_layers for tap in taps_around(layer)}
    return {
        path: tap for path, tap in taps(model).items() if path.endswith(PRODUCT_INPUT_TAPS) and path not in float_taps
    }
