"""Constants of positions in files: int8, as in the rounded model, and none of the floats that they replace."""

import numpy as np
import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.sharing import read_model
from keras_bert.families.deberta.settings import DeBERTa
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import answers_of, export_on_grids
from tests.samples import long_but

LENGTHS = (4, 16)


def constants(path):
    """All constants of a file."""
    return [tensor for graph in read_graphs(path) for tensor in graph.tensors if tensor.constant]


def types_by_shape(tensors, layer):
    return {tensor.shape: tensor.type for tensor in tensors if layer in tensor.name}


@pytest.mark.parametrize(
    "recipe", long_but(("mixed_wi8_ai8", "weights_wi4"), ("mixed_wi8_ai8", "dynamic_wi8", "weights_wi4"))
)
def test_a_file_holds_the_rows_of_the_rounded_table(recipe, tmp_path):
    path = tmp_path / "model.tflite"
    # Rows before that of the first token are left out.
    model = tiny.build(position_offset=2)
    export_on_grids(model, recipe, path, LENGTHS)
    assert types_by_shape(constants(path), "position_embedding") == dict.fromkeys(((1, 4, 32), (1, 16, 32)), "int8")
    table, content = model.get_layer("position_embedding").embeddings.numpy(), read_model(path.read_bytes())
    for graph in content.subgraphs:
        (stored,) = (tensor for tensor in graph.tensors if b"/int8_" in tensor.name)
        grid, integers = stored.quantization, np.asarray(content.buffers[stored.buffer].data, np.uint8).view(np.int8)
        rows = (integers.astype(np.float32) - grid.zeroPoint[0]) * grid.scale[0]
        np.testing.assert_allclose(rows.reshape(stored.shape[1:]), table[2 : 2 + stored.shape[1]], atol=1e-6)


@pytest.mark.parametrize("recipe", ["float16", "static_wi8_ai8"])
def test_other_recipes_have_no_grid_for_positions(recipe):
    model = tiny.build()
    before = model.get_layer("position_embedding").embeddings.numpy()
    assert "position_embedding/output_tap" not in QuantizationAware(model, tiny.batches(1), recipe).finish()
    np.testing.assert_array_equal(model.get_layer("position_embedding").embeddings.numpy(), before)


def test_the_floats_are_gone(tmp_path):
    export_on_grids(tiny.build(), "weights_wi4", tmp_path / "model.tflite", LENGTHS)
    content = read_model((tmp_path / "model.tflite").read_bytes())
    sizes = [len(buffer.data) for buffer in content.buffers if buffer.data is not None]
    # The largest of all is the token table, with 50 rows of 32; 16 positions in float32 would take 2048 bytes.
    assert max(sizes) == 50 * 32


@pytest.mark.parametrize(
    "recipe", long_but(("dynamic_wi8", "weights_wi4_block32"), ("mixed_wi8_ai8", "dynamic_wi8", "weights_wi4_block32"))
)
def test_relative_positions_are_integers(recipe, tmp_path):
    path = tmp_path / "model.tflite"
    model = tiny.build(variant=DeBERTa(), num_segments=0)
    rounding = export_on_grids(model, recipe, path, LENGTHS)
    tensors = constants(path)
    assert types_by_shape(tensors, "relative_embedding") == {(2, 8, 32): "int8", (2, 32, 32): "int8"}
    # The largest float constants are the units' biases, and steps of int8 in blocks.
    assert max(np.prod(tensor.shape) for tensor in tensors if tensor.type == "float32") <= 64
    rows = {name: values for name, values in tiny.make_rows(8)[0].items() if name != "segment_ids"}
    np.testing.assert_allclose(*answers_of(path, model, rounding, rows), atol=0.02)
