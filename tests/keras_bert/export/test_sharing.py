"""Sharing changes the bytes of a file, and nothing that they say."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sharing import read_model, write_model
from tests.keras_bert.compress import tiny


def quantizations(content):
    """Of all tensors that have units with scales of their own."""
    model = schema.Model.GetRootAs(content)
    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    tensors = [graph.Tensors(number) for graph in graphs for number in range(graph.TensorsLength())]
    parameters = [tensor.Quantization() for tensor in tensors]
    return [grid for grid in parameters if grid is not None and grid.ScaleLength() > 1]


def place(vector):
    return vector.__array_interface__["data"][0]


@pytest.fixture(scope="module")
def shared(files):
    return (files / "model.tflite").read_bytes()


@pytest.fixture(scope="module")
def spread(shared):
    """The same file with a vector for each table, as a writer that knows nothing of sharing makes it."""
    import flatbuffers

    builder = flatbuffers.Builder(len(shared))
    builder.Finish(schema.ModelT.InitFromPackedBuf(shared).Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def test_equal_scales_stand_once_in_a_smaller_file_with_the_same_answers(shared, spread, tmp_path):
    for content, once in ((shared, True), (spread, False)):
        grids = quantizations(content)
        for numbers in ([grid.ScaleAsNumpy() for grid in grids], [grid.ZeroPointAsNumpy() for grid in grids]):
            different = {vector.tobytes() for vector in numbers}
            assert 1 <= len(different) < len(grids)
            assert (len({place(vector) for vector in numbers}) == len(different)) is once
    grids = quantizations(spread)
    vectors = [vector.tobytes() for grid in grids for vector in (grid.ScaleAsNumpy(), grid.ZeroPointAsNumpy())]
    repeated = sum(map(len, vectors)) - sum(map(len, set(vectors)))
    assert repeated > 1000
    assert write_model(read_model(spread)) == shared
    assert len(spread) - len(shared) > 0.9 * repeated
    rows, _ = tiny.make_rows(16, seed=5)
    answers = []
    for name, content in (("shared", shared), ("spread", spread)):
        (tmp_path / name).write_bytes(content)
        answers.append(TFLiteModel(tmp_path / name)(**rows))
    np.testing.assert_array_equal(*answers)


def test_data_behind_the_model_comes_into_it(shared, tmp_path):
    model = schema.ModelT.InitFromPackedBuf(shared)
    large = [buffer for buffer in model.buffers if buffer.data is not None and len(buffer.data) > 1000]
    assert len(large) > 3
    kept = [bytes(buffer.data) for buffer in large]
    for buffer in large:
        # As long as what is to be written there: a table leaves out what is 0.
        buffer.data, buffer.offset, buffer.size = None, 2, 2
    start = len(write_model(model))
    for buffer, data in zip(large, kept, strict=True):
        buffer.offset, buffer.size = start, len(data)
        start += len(data)
    behind = write_model(model) + b"".join(kept)
    assert write_model(read_model(behind)) == shared
    rows, _ = tiny.make_rows(4, seed=5)
    (tmp_path / "behind.tflite").write_bytes(behind)
    (tmp_path / "inside.tflite").write_bytes(write_model(read_model(behind)))
    np.testing.assert_array_equal(
        *(TFLiteModel(tmp_path / name)(**rows) for name in ("behind.tflite", "inside.tflite"))
    )


def test_the_data_of_buffers_begins_where_runtimes_may_read_it(shared):
    model, start = schema.Model.GetRootAs(shared), place(np.frombuffer(shared, np.uint8))
    buffers = [model.Buffers(number) for number in range(model.BuffersLength())]
    begins = [place(buffer.DataAsNumpy()) - start for buffer in buffers if buffer.DataLength()]
    assert len(begins) > 10
    assert {begin % 16 for begin in begins} == {0}
