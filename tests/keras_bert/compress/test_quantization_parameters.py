"""What stands beside a rounded model, and what it answers."""

import json

import numpy as np

from keras_bert.compress.quantization_parameters import (
    QUANTIZATION_FILE,
    QuantizationParameters,
    quantized_activations,
    read_quantization,
)
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.ranges import taps
from tests.keras_bert.compress import tiny

RANGES = {"embeddings_norm_tap": (-1.5, 2.25), "block_0/attention/context_tap": (0.0, 1e-3)}


def test_what_is_saved_is_found(tmp_path):
    for rounding in (
        QuantizationParameters("dynamic_wi8", RANGES, ("block_0/attention/key",)),
        QuantizationParameters("dynamic_wi8", RANGES),
    ):
        rounding.save(tmp_path)
        assert read_quantization(tmp_path) == rounding
    said = json.loads((tmp_path / QUANTIZATION_FILE).read_text())
    ranges = {name: list(span) for name, span in RANGES.items()}
    assert said == {"recipe": "dynamic_wi8", "ranges": ranges, "float_layers": []}


def test_a_model_that_stays_float_has_none(tmp_path):
    assert read_quantization(tmp_path) is None
    assert read_quantization(tmp_path / "nowhere") is None


def test_rows_are_rounded_inside_alone_and_as_in_training():
    model, rows = tiny.build(), tiny.make_rows(8)[0]
    aware = QuantizationAware(model, tiny.batches(1), "dynamic_wi8")
    in_training = model.predict(rows, verbose=0)
    ranges = aware.finish()
    assert set(ranges) == {"token_embedding/output_tap", "position_embedding/output_tap"}
    plain = model.predict(rows, verbose=0)
    with quantized_activations(model, QuantizationParameters("dynamic_wi8", ranges)):
        np.testing.assert_allclose(model.predict(rows, verbose=0), in_training, atol=2e-5)
    np.testing.assert_array_equal(model.predict(rows, verbose=0), plain)
    assert np.abs(plain - in_training).max() > 5e-5
    assert all(tap.transform is None for tap in taps(model).values())
