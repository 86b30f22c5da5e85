import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.compress.ranges import fixed_ranges, sublayers
from keras_bert.export.check import FLOAT32_TOLERANCE, check_parity
from keras_bert.export.rules.lite_graphs import count_operations, read_graphs
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.tflite import export_tflite
from keras_bert.layers.dense import Dense
from tests.keras_bert.compress import tiny

INT8 = 9


def read_int8_matrices(file):
    """{(rows, columns): [(integers, scales), ...]} of the constants of the first signature."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(file.read_bytes(), 0))
    matrices = {}
    for tensor in model.subgraphs[0].tensors:
        content = model.buffers[tensor.buffer].data
        if tensor.type == INT8 and content is not None and len(tensor.shape) == 2:
            integers = np.frombuffer(bytes(content), np.int8).reshape(tensor.shape)
            matrices.setdefault(tuple(tensor.shape), []).append((integers, tensor.quantization))
    return matrices


def test_files_answer_like_the_model_and_the_rounded_one(student, files):
    rows, _ = tiny.make_rows(64, seed=7)
    answers = TFLiteModel(files / "model_float32.tflite")(**rows)
    check_parity("float32", np.asarray(student[0](rows)), answers, FLOAT32_TOLERANCE)
    model, ranges = student
    rows, labels = tiny.make_rows(256, seed=7)
    with fixed_ranges(model, ranges):
        rounded = np.asarray(model(rows))
    answers = TFLiteModel(files / "model.tflite")(**rows)
    assert (rounded.argmax(1) == answers.argmax(1)).mean() > 0.99
    assert np.abs(rounded - answers).mean() < 0.05
    assert (answers.argmax(1) == labels).mean() > 0.95


def test_a_folder_whose_name_looks_like_a_pattern(student, tmp_path, monkeypatch):
    scratch = tmp_path / "a[b]"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    export_tflite(student[0], scratch / "model.tflite", (8,))
    assert [file.name for file in scratch.iterdir()] == ["model.tflite"]


def test_the_integers_are_those_of_kernels_and_table(student, files):
    stored = read_int8_matrices(files / "model.tflite")
    dense = [layer for path, layer in sublayers(student[0], Dense).items() if path != "classifier"]
    assert len(dense) == 7
    for layer in dense:
        kernel = layer.kernel.numpy().astype(np.float64)
        scales = np.abs(kernel).max(axis=0) / 127
        # The query's file scales hold the 1/sqrt(head size) of attention; its integers are the same.
        expected = np.round(kernel / scales).astype(np.int8).T
        assert any(np.array_equal(expected, integers) for integers, _ in stored[expected.shape]), layer.path
    model, ranges = student
    low, high = ranges["token_embedding/output_tap"]
    ((integers, grid),) = read_int8_matrices(files / "model.tflite")[(2000, 32)]
    assert grid.scale[0] == pytest.approx((high - low) / 255, rel=1e-5)
    restored = (integers.astype(np.float64) - grid.zeroPoint[0]) * grid.scale[0]
    np.testing.assert_allclose(restored, model.get_layer("token_embedding").embeddings.numpy(), atol=1e-6)


def test_products_with_weights_are_int8_and_attention_and_activation_float(files):
    counts = count_operations(files / "model.tflite")
    assert counts["FULLY_CONNECTED int8"] == 7
    assert counts["FULLY_CONNECTED float32"] == 1
    assert counts["GATHER int8"] == 2
    assert counts["BATCH_MATMUL float32"] == 2
    assert counts["GELU float32"] == counts["SOFTMAX float32"] == 1
    assert not any(name.endswith("int8") for name in count_operations(files / "model_float32.tflite"))


def test_a_last_layer_whose_first_token_alone_is_read_computes_no_other(student, files):
    graph = read_graphs(files / "model.tflite")[0]
    made = [
        graph.tensors[operation.outputs[0]].shape
        for operation in graph.operations
        if operation.kind == "FULLY_CONNECTED"
    ]
    rows = [int(np.prod(shape[:-1])) for shape in made]
    # Keys and values; queries, attention's output, both of the feed-forward layer, pooler and classifier.
    assert sorted(rows) == [1] * 6 + [tiny.LENGTH] * 2


def outputs_of(rounded, name, rows):
    answers = TFLiteModel(rounded.folder / name)(**rows)
    return answers[rounded.task.output_name] if isinstance(answers, dict) else answers


@pytest.mark.parametrize(("kind", "heads", "least"), [("tagger", 1, 0.99), ("embedder", 0, 0.999)])
def test_taggers_and_embedders_run_in_int8_too(request, kind, heads, least):
    rounded = request.getfixturevalue(kind)
    rows, _ = tiny.make_rows(64, seed=7)
    mask = rows["padding_mask"]
    exact = np.asarray(rounded.network(rows))
    with fixed_ranges(rounded.network, rounded.ranges):
        expected = np.asarray(rounded.network(rows))
    answers = outputs_of(rounded, "model.tflite", rows)
    assert rounded.task.agreement(expected, answers, mask).mean() > least
    # Rounding changes more than the runtime does.
    assert rounded.task.agreement(exact, answers, mask).mean() < rounded.task.agreement(expected, answers, mask).mean()
    check_parity("float32", exact, outputs_of(rounded, "model_float32.tflite", rows), FLOAT32_TOLERANCE, mask)
    counts = count_operations(rounded.folder / "model.tflite")
    assert (counts["FULLY_CONNECTED int8"], counts.get("FULLY_CONNECTED float32", 0)) == (6, heads)
    assert counts["GATHER int8"] == 2


def test_signatures_share_their_weights_and_equal_models_give_equal_bytes(student, files, tmp_path):
    weights = sum(weight.numpy().nbytes for weight in student[0].trainable_variables)
    both = (files / "model_float32.tflite").stat().st_size
    export_tflite(student[0], tmp_path / "one.tflite", (16,))
    one = (tmp_path / "one.tflite").stat().st_size
    assert one > weights
    assert both - one < 0.3 * weights
    assert (files / "model.tflite").stat().st_size < 0.5 * both
    export_tflite(student[0], tmp_path / "again.tflite", (16, 8), student[1])
    assert (tmp_path / "again.tflite").read_bytes() == (files / "model.tflite").read_bytes()


@pytest.mark.parametrize("lengths", [(), (8, 8), (0, 8)])
def test_impossible_lengths_are_refused(student, tmp_path, lengths):
    with pytest.raises(ValueError, match="lengths must be positive and differ"):
        export_tflite(student[0], tmp_path / "model.tflite", lengths)
