"""Exports a quantized Keras model as a `.tflite` file with integers."""

import contextlib
import io
import itertools
import os
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.ranges import HEADROOM, int8_tables, is_symmetric
from keras_bert.core.folders import LOGITS
from keras_bert.export.layer_names import NORMALIZATION, is_head_float, make_layer_pattern
from keras_bert.export.lite_operands import read_integers_directly
from keras_bert.export.products import replace_with_products
from keras_bert.export.runtimes import SIGNATURE, Array
from keras_bert.export.sharing import read_model, write_model
from keras_bert.export.text_inputs import TextInputs
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import has_layer, input_names
from keras_bert.options.quantization import RECIPES, Recipe


def export_quantized(
    model: keras.Model,
    path: str | os.PathLike[str],
    lengths: Sequence[int],
    quantization: QuantizationParameters | None,
    rows: Mapping[str, Array] | None = None,
    *,
    output: str = LOGITS,
    text: TextInputs | None = None,
) -> None:
    """Writes a model as a `.tflite` file that is quantized by a recipe.

    If only the activations around products have ranges, TensorFlow's converter quantizes the model. Otherwise it
    quantizes tables and constants, and `ai-edge-quantizer` everything else; weights keep their quantized values.

    The model is as `QuantizationAware.finish` leaves it; None as quantization writes a float file. If all activations
    are integers, `rows` (rows, width) calibrate their ranges. For the other arguments see `export_tflite`.
    """
    if quantization is None:
        export_tflite(model, path, lengths, output=output, text=text)
        return
    recipe = RECIPES[quantization.recipe]
    if not recipe.integers:
        export_tflite(model, path, lengths, half=True, output=output, text=text)
    elif recipe.activations == "products":
        export_tflite(model, path, lengths, quantization.ranges, output=output, text=text)
    else:
        if recipe.activations == "all" and not (rows and len(rows["padding_mask"])):
            raise ValueError(f"{quantization.recipe} needs rows that calibrate the activation ranges, got none")
        # If each row is quantized with its own range, only tables and constants have learned ranges.
        taps = quantization.ranges if recipe.activations == "rows" else int8_tables(model, recipe)
        constants = {tap: quantization.ranges[tap] for tap in taps}
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "base.tflite"
            export_tflite(model, base, lengths, constants, output=output, text=text)
            if recipe.activations == "all":
                base.write_bytes(replace_with_products(base.read_bytes()))
            samples = {} if rows is None else _by_signature(rows, input_names(model), lengths)
            unit_length = (NORMALIZATION,) if has_layer(model, NORMALIZATION) else ()
            float_layers = (*quantization.float_layers, *unit_length)
            quantized = read_model(_with_integers(base, recipe, samples, float_layers))
            _replace_zero_scales(quantized)
            if recipe.activations == "all":
                read_integers_directly(quantized)
            Path(path).write_bytes(write_model(quantized))


def _with_integers(
    base: Path, recipe: Recipe, samples: dict[str, list[dict[str, Array]]], float_layers: Sequence[str]
) -> bytes:
    """Quantizes a `.tflite` file by a recipe with `ai-edge-quantizer`; returns its content."""
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_quantizer import qtyping, recipe_manager
    from ai_edge_quantizer.calibrator import Calibrator
    from ai_edge_quantizer.quantizer import Quantizer
    from ai_edge_quantizer.utils.qsv_utils import min_max_update

    manager, everything = recipe_manager.RecipeManager(), qtyping.TFLOperationName.ALL_SUPPORTED
    granularity = qtyping.QuantGranularity(f"BLOCKWISE_{recipe.block}" if recipe.block else "CHANNELWISE")
    if recipe.activations == "all":
        manager.add_static_config(".*", everything, recipe.activation_bits, recipe.weight_bits, granularity)
        # Outputs stay float for the caller. An output that is a sum adds the mask's constant to masked positions: a
        # grid over that range would be too coarse for logits.
        manager.add_quantization_config(".*", qtyping.TFLOperationName.OUTPUT, algorithm_key="no_quantize")
        kinds = [qtyping.TFLOperationName.ADD]
        if is_head_float(float_layers):
            # The head's result has the name of the output, not the name of the layer.
            kinds += [qtyping.TFLOperationName.FULLY_CONNECTED, qtyping.TFLOperationName.MUL]
        graphs = schema.ModelT.InitFromPackedBuf(base.read_bytes()).subgraphs
        outputs = {graph.tensors[index].name.decode() for graph in graphs for index in graph.outputs}
        for name, kind in itertools.product(outputs, kinds):
            manager.add_quantization_config(re.escape(name), kind, algorithm_key="no_quantize")
    else:
        manager.add_dynamic_config(".*", everything, recipe.weight_bits, granularity)
    for layer in float_layers:
        manager.add_quantization_config(f".*/{make_layer_pattern(layer)}/.*", everything, algorithm_key="no_quantize")
    # The quantizer prints progress bars and sizes, and warns that tables are quantized already.
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantizer = Quantizer(str(base), manager.get_quantization_recipe())
        ranges = None
        if quantizer.need_calibration:
            # A range covers all rows. By default the quantizer averages the ranges of single rows, which clips values
            # that only a few rows reach.
            calibrator = Calibrator(base.read_bytes(), num_threads=1, qsv_update_func=min_max_update)
            calibrator.calibrate(samples, manager)
            ranges = calibrator.get_model_qsvs()
            if is_symmetric(recipe.activation_bits):
                ranges = {
                    tensor: {end: HEADROOM * value for end, value in span.items()} for tensor, span in ranges.items()
                }
        return bytes(quantizer.quantize(ranges).quantized_model)


def _replace_zero_scales(model: Any) -> None:
    """Gives blocks whose scale is 0 in float16, as blocks of zeros have, a scale above 0, and zeros as weights.

    XNNPACK refuses a scale of 0.
    """
    from ai_edge_litert import schema_py_generated as schema

    for graph in model.subgraphs:
        for tensor in graph.tensors:
            details = tensor.quantization and tensor.quantization.details
            if isinstance(details, schema.BlockwiseQuantizationT):
                kernel, held = (model.buffers[index] for index in (tensor.buffer, graph.tensors[details.scales].buffer))
                scales = np.array(held.data, np.uint8).view(np.float16)
                weights = np.array(kernel.data, np.uint8).reshape(len(scales), -1)  # the bytes of each block
                weights[scales == 0], scales[scales == 0] = 0, np.finfo(np.float16).tiny
                kernel.data, held.data = weights.reshape(-1), scales.view(np.uint8)


def _by_signature(
    rows: Mapping[str, Array], names: Sequence[str], lengths: Sequence[int]
) -> dict[str, list[dict[str, Array]]]:
    """Pads the rows that fit a signature to its length; if no row fits, truncates all rows.

    One row has padding: without it the mask's range would be a single number, and padding would count as tokens.
    """
    mask = np.asarray(rows["padding_mask"])
    sizes = mask.sum(axis=1)
    samples: dict[str, list[dict[str, Any]]] = {}
    for length in lengths:
        chosen = np.flatnonzero(sizes <= length)
        chosen = chosen if len(chosen) else np.arange(len(mask))
        cut = {name: np.asarray(rows[name])[chosen, :length].astype(np.int32) for name in names}
        fitted = {name: np.pad(array, ((0, 0), (0, length - array.shape[1]))) for name, array in cut.items()}
        if fitted["padding_mask"].all():
            half = {name: np.where(np.arange(length) <= length // 2, array[:1], 0) for name, array in fitted.items()}
            fitted = {name: np.concatenate([array, half[name]]) for name, array in fitted.items()}
        samples[SIGNATURE.format(length=length)] = [
            {name: values[row : row + 1] for name, values in fitted.items()}
            for row in range(len(fitted["padding_mask"]))
        ]
    return samples
