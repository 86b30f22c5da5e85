"""Positions in files: int8 constants, as in the rounded model, and none of the floats that they replace."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.positions import store_positions_as_integers
from keras_bert.export.quantized import export_quantized
from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.sharing import read_model
from tests.keras_bert.compress import tiny

LENGTHS = (4, 8)


def make_file(recipe, path, **changes):
    """Writes a file of a rounded model; returns the model."""
    model = tiny.build(**changes)
    ranges = QuantizationAware(model, tiny.batches(1), recipe).finish()
    export_quantized(model, path, LENGTHS, QuantizationParameters(recipe, ranges), tiny.make_rows(8)[0])
    return model


def constants(path):
    """Shape -> type, of the constants of positions."""
    tensors = [tensor for graph in read_graphs(path) for tensor in graph.tensors]
    return {tensor.shape: tensor.type for tensor in tensors if tensor.constant and "position_embedding" in tensor.name}


@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "dynamic_wi8", "weights_wi4"])
def test_a_file_holds_the_rows_of_the_rounded_table(recipe, tmp_path):
    path = tmp_path / "model.tflite"
    # Rows before that of the first token are left out.
    model = make_file(recipe, path, position_offset=2)
    assert constants(path) == dict.fromkeys(((4, 32), (8, 32)), "int8")
    table, content = model.get_layer("position_embedding").embeddings.numpy(), read_model(path.read_bytes())
    for graph in content.subgraphs:
        (stored,) = (tensor for tensor in graph.tensors if b"/int8_" in tensor.name)
        grid, integers = stored.quantization, np.asarray(content.buffers[stored.buffer].data, np.uint8).view(np.int8)
        rows = (integers.astype(np.float32) - grid.zeroPoint[0]) * grid.scale[0]
        np.testing.assert_allclose(rows.reshape(stored.shape), table[2 : 2 + stored.shape[0]], atol=1e-6)


@pytest.mark.parametrize("recipe", ["float16", "static_wi8_ai8"])
def test_other_recipes_have_no_grid_for_positions(recipe, tmp_path):
    model = tiny.build()
    before = model.get_layer("position_embedding").embeddings.numpy()
    assert "position_embedding/output_tap" not in QuantizationAware(model, tiny.batches(1), recipe).finish()
    np.testing.assert_array_equal(model.get_layer("position_embedding").embeddings.numpy(), before)


def test_the_floats_are_gone(tmp_path):
    long = {"max_length": 512}
    make_file("weights_wi4", tmp_path / "model.tflite", **long)
    content = read_model((tmp_path / "model.tflite").read_bytes())
    kept = [len(buffer.data) for buffer in content.buffers if buffer.data is not None]
    # The largest of all are the token table, with 50 rows of 32, and kernels of 32 x 64 in 4 bits.
    assert max(kept) == 50 * 32


def test_a_file_without_the_layer_is_refused():
    with pytest.raises(RuntimeError, match=r"^the file must have a constant of position_embedding, found none$"):
        store_positions_as_integers(schema.ModelT(subgraphs=[]), {"position_embedding": (-1.0, 1.0)})
