"""How much of a graph XNNPACK takes: graphs that are known by heart."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.delegation import count_delegated


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


@pytest.mark.parametrize(("sums", "expected"), [(False, (2, 2, 1)), (True, (3, 2, 2))])
def test_nodes_and_parts_of_a_graph(tmp_path: Path, sums: bool, expected: tuple[int, int, int]) -> None:
    write(tmp_path / "model.tflite", sums=sums)
    assert count_delegated(tmp_path / "model.tflite") == expected
