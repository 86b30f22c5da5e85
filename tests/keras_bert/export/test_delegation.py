"""How much of a graph XNNPACK takes: graphs that are known by heart."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.delegation import count_delegated
from keras_bert.export.quantized import export_quantized
from keras_bert.export.tflite import export_tflite
from tests.keras_bert.compress import tiny


def write(path: Path, *, sums: bool) -> None:
    """Two products, and between them running sums, which XNNPACK does not know, or what the first one can do itself."""
    kernel = tf.constant(np.random.default_rng(0).normal(size=(8, 8)).astype("float32"))

    @tf.function(input_signature=[tf.TensorSpec((1, 8), tf.float32, name="given")], autograph=False)
    def serve(given):
        between = tf.matmul(given, kernel)
        between = tf.math.cumsum(between, axis=1) if sums else tf.nn.relu(between)
        return {"found": tf.matmul(between, kernel)}

    tf.saved_model.save(tf.Module(), str(path.parent / "saved"), signatures={"serve_8": serve})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(path.parent / "saved"), signature_keys=["serve_8"])
    path.write_bytes(converter.convert())


@pytest.mark.parametrize(
    ("sums", "expected"),
    [(False, (2, 2, 1, {})), (True, (3, 2, 2, {"CUMSUM float32: it runs none of these": 1}))],
)
def test_nodes_and_parts_of_a_graph(tmp_path: Path, sums: bool, expected: tuple[object, ...]) -> None:
    write(tmp_path / "model.tflite", sums=sums)
    assert count_delegated(tmp_path / "model.tflite") == expected


def test_what_is_left_of_a_model_is_told_with_its_reason(tmp_path: Path) -> None:
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8,))
    delegation = count_delegated(tmp_path / "model.tflite")
    assert sum(delegation.left.values()) == delegation.nodes - delegation.taken > 0
    # Two tables are looked up in, each with a list of ids.
    assert delegation.left["GATHER float32: it runs none of these"] == 2
    assert delegation.left["RESHAPE int32: it does not compute with int32"] == 2


def test_integers_are_left_for_other_reasons(tmp_path: Path) -> None:
    model = tiny.build()
    rounding = QuantizationParameters(
        "static_wi8_ai8", QuantizationAware(model, tiny.batches(1), "static_wi8_ai8").finish()
    )
    export_quantized(model, tmp_path / "model.tflite", (8,), rounding, tiny.make_rows(4)[0])
    left = count_delegated(tmp_path / "model.tflite").left
    assert left["SOFTMAX int8: it runs none of these"] == 1
    # Three variances, each with the small number that keeps it from 0, are among them.
    assert left["ADD int8: it adds no terms whose steps are below 1/1024 of the result's"] >= 3
