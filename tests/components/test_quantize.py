"""Quantization as a step, without a training; `tests/keras_bert/recipes` has that with one for every task."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from components.artifacts.standard import EdgeModel, Model
from components.dsl.errors import InputError
from components.export_model import export_model
from components.quantize import quantize
from components.training.model_folder import read_model
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.options.export import Export
from keras_bert.options.tables import QuantizationSettings
from tests.components.tuning_job import Line
from tests.samples import long_but

Lines = Callable[[str], Line]


@pytest.mark.parametrize(
    "recipe", long_but(["static_wi8_ai8"], ("static_wi8_ai8", "static_wi8_ai16", "weights_wi4", "float16"))
)
def test_a_model_is_rounded_as_it_is_by_any_recipe(line, tmp_path, recipe):
    artifacts, quantized = line("classification"), Model(tmp_path / "quantized")
    given = {"student": artifacts.student, "examples": artifacts.examples, "quantized": quantized}
    settings = QuantizationSettings(recipe=recipe, calibration_batches=2, post_training=True)
    quantize.run(**given, quantization=settings)
    rounding = read_quantization(quantized.path)
    assert rounding is not None
    assert rounding.recipe == recipe
    # Nothing was trained: what no grid holds is as it was.
    before, after = artifacts.load("student").model, read_model(quantized).model
    np.testing.assert_array_equal(
        before.get_layer("embeddings_norm").gamma.numpy(), after.get_layer("embeddings_norm").gamma.numpy()
    )
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(
        model=quantized, examples=artifacts.examples, edge=edge, export=Export(lengths=(), runtimes=("tflite",))
    )
    said = json.loads(edge.file("export.json").read_text())["model.tflite"]
    assert said["recipe"] == recipe
    assert said["agreement_with_rounded_model"] > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            QuantizationSettings(recipe="weights_wi4_block32", post_training=True),
            "quantization, recipe weights_wi4_block32: block must divide the 16 inputs of a kernel, got 32",
        ),
        (
            QuantizationSettings(float_layers=("block_0/attention/key", "block_0/attention/keys"), post_training=True),
            "quantization, recipe mixed_wi8_ai8: float_layers must be layers of the model, got "
            "'block_0/attention/keys'; the nearest is 'block_0/attention/key'",
        ),
    ],
)
def test_what_does_not_go_with_the_model(line, tmp_path, settings, message):
    artifacts = line("classification")
    given = {"student": artifacts.student, "examples": artifacts.examples, "quantized": Model(tmp_path / "quantized")}
    with pytest.raises(InputError) as caught:
        quantize.run(**given, quantization=settings)
    assert str(caught.value) == message
