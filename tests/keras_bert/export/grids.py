"""Models on the grids of a recipe, and their files for LiteRT."""

import numpy as np

from keras_bert.compress.quantization_parameters import QuantizationParameters, quantized_activations
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.models.encoder import input_names
from tests.keras_bert.compress import tiny


def put_on_grids(model, recipe="mixed_wi8_ai8", batches=None, float_layers=()):
    """The rounding of a model; from now on its weights are on the grids of the recipe."""
    rows = [{name: batch[name] for name in input_names(model)} for batch in batches or tiny.batches(1)]
    ranges = QuantizationAware(model, rows, recipe, float_layers).finish()
    return QuantizationParameters(recipe, ranges, tuple(float_layers))


def export_on_grids(model, recipe, path, lengths=(16,), rows=None, *, batches=None, float_layers=(), **options):
    """Writes the file of a model on the grids of a recipe and returns the rounding; static recipes need rows."""
    rounding = put_on_grids(model, recipe, batches, float_layers)
    export_quantized(model, path, lengths, rounding, rows, **options)
    return rounding


def answers_of(path, model, rounding, rows):
    """The answers of a file, and those of the rounded model."""
    with quantized_activations(model, rounding):
        expected = np.asarray(model(rows))
    return TFLiteModel(path).predict_on_batch(rows), expected
