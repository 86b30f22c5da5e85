"""The folder for transformers.js: names and types that it takes for granted, and the answers of Keras."""

import contextlib
import json
from collections import Counter

import numpy as np
import onnx
import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.ranges import fixed_ranges
from keras_bert.core.folders import (
    HIDDEN_STATES,
    SENTENCE_VECTOR,
    WEB_FILE,
    WEB_FILES,
    WEB_FOLDER,
    WEB_HALF_FILE,
    WEB_INT8_FILE,
    WEB_STATIC_FILE,
)
from keras_bert.export.bundle import load_exported
from keras_bert.export.check import FLOAT32_TOLERANCE, check_parity, parity_tolerance
from keras_bert.export.runtimes import INPUTS, OnnxModel, open_session
from keras_bert.export.targets.onnx import TransformersJs
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.models.encoder import input_names
from keras_bert.options.data import Projection
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.keras_bert.export.word_tasks import LENGTH, SETTINGS, make_task, make_texts
from tests.keras_bert.interop.family_checkpoints import make_checkpoint
from tests.keras_bert.tokenizers import subwords
from tests.samples import long_but

PAIR = ["batch", "length"]
# What reads tables and kernels.
PRODUCTS = ("Gather", "MatMul", "MatMulInteger", "DequantizeLinear")
OUTPUTS = {
    "classification": {"logits": ["batch", 3]},
    "multi_label": {"logits": ["batch", 3]},
    "regression": {"logits": ["batch", 1]},
    "token_classification": {"logits": [*PAIR, 3]},
    "question_answering": {"start_logits": PAIR, "end_logits": PAIR},
    "embedding": {"last_hidden_state": [*PAIR, 32], "sentence_embedding": ["batch", 32]},
}


def rows_of(task):
    encoded = task.tokenizer.encode(make_texts(48, 12), max_length=LENGTH)
    return {name: np.asarray(encoded[name]) for name in input_names(task.network())}


@pytest.fixture(scope="module", params=long_but(("classification", "question_answering"), SETTINGS))
def exported(request, tmp_path_factory):
    """A rounded task, and the folder that holds its folder."""
    task, folder = make_task(request.param), tmp_path_factory.mktemp(request.param)
    ranges = QuantizationAware(task.network(), [rows_of(task)]).finish()
    export_transformers_js(task, folder, ranges=ranges)
    return task, folder, ranges


@pytest.fixture(scope="module")
def rows(exported):
    return rows_of(exported[0])


def ask(file, rows):
    answers = OnnxModel(file, LENGTH).predict_on_batch(rows)
    return answers["embedding"] if isinstance(answers, dict) else answers


def test_each_file_has_the_names_of_transformers_standard_operations_and_small_numbers(exported):
    task, folder, *_ = exported
    for name in WEB_FILES:
        model = onnx.load(folder / name)
        onnx.checker.check_model(model, full_check=True)
        given, answered = (
            {
                value.name: [
                    dimension.dim_param or dimension.dim_value for dimension in value.type.tensor_type.shape.dim
                ]
                for value in values
            }
            for values in (model.graph.input, model.graph.output)
        )
        assert given == dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), PAIR)
        assert {value.type.tensor_type.elem_type for value in model.graph.input} == {onnx.TensorProto.INT64}
        assert answered == OUTPUTS[task.name]
        assert {value.type.tensor_type.elem_type for value in model.graph.output} == {onnx.TensorProto.FLOAT}
        assert {node.domain for node in model.graph.node} == {""}
    kinds = []  # of tables and kernels
    for name in WEB_FILES:
        graph = onnx.load(exported[1] / name).graph
        readers = [node for node in graph.node if node.op_type in PRODUCTS]
        read = {given for node in readers for given in node.input}
        kinds.append(
            {tensor.data_type for tensor in graph.initializer if tensor.name in read and len(tensor.dims) == 2}
        )
    whole = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
    *others, on_grids = kinds
    assert others == [{onnx.TensorProto.FLOAT}, {onnx.TensorProto.FLOAT16}, whole]
    assert on_grids - {onnx.TensorProto.FLOAT} == whole, "what a head reads has no grid"


def test_the_files_answer_as_keras_does(exported, rows):
    task, folder, *_ = exported
    mask = rows["padding_mask"]
    expected = np.asarray(task.network()(rows))
    check_parity("float32", expected, ask(folder / WEB_FILE, rows), FLOAT32_TOLERANCE, mask)
    tolerance = parity_tolerance(expected, mask, half=True)
    largest = check_parity("float16", expected, ask(folder / WEB_HALF_FILE, rows), tolerance, mask)
    assert largest > FLOAT32_TOLERANCE / 10, "rounded at all"
    agreement = task.agreement(expected, ask(folder / WEB_INT8_FILE, rows), mask)
    assert 0.9 <= agreement.mean() <= 1


def test_a_task_asks_the_file_as_it_asks_keras(exported):
    task, folder, *_ = exported
    task.save_settings(folder)
    texts = make_texts(6, 8)
    given = [["a film?"] * 6, texts] if task.name == "question_answering" else [texts]
    actual, expected = load_exported(folder, WEB_FILE).predict(*given), task.predict(*given)
    if task.name in ("embedding", "regression"):
        np.testing.assert_allclose(actual, expected, atol=1e-4)
    elif task.name == "multi_label":
        assert [[answer.label for answer in labels] for labels in actual] == [
            [answer.label for answer in labels] for labels in expected
        ]
    else:
        keep = {"classification": "label", "token_classification": "label", "question_answering": "text"}[task.name]
        flat = [
            [entry] if not isinstance(entry, list) else entry for answers in (actual, expected) for entry in answers
        ]
        named = [[getattr(answer, keep) for answer in entry] for entry in flat]
        assert named[:6] == named[6:]


def kernels_of(file):
    """The integers of a file's kernels (inputs, units)."""
    tensors = [onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(file).graph.initializer]
    return [tensor.astype(int) for tensor in tensors if tensor.dtype == np.int8 and tensor.ndim == 2]


@contextlib.contextmanager
def kernels_of_file(network, file):
    """Inside the block, kernels that are integers of seven bits in a file have the file's values."""
    held, before = kernels_of(file), [(weight, weight.numpy()) for weight in network.weights]
    for weight, kernel in before:
        if weight.path.endswith("kernel"):
            scale = np.abs(kernel).max(axis=0) / 64
            steps = np.round(np.round(kernel / scale * 127 / 64) * 64 / 127)
            if any(np.array_equal(steps, other) for other in held):
                weight.assign(steps * scale)
    yield
    for weight, kernel in before:
        weight.assign(kernel)


def test_a_file_with_grids_answers_as_the_rounded_model_does(exported, rows):
    task, folder, ranges = exported
    network, mask = task.network(), rows["padding_mask"]
    with kernels_of_file(network, folder / WEB_STATIC_FILE):
        without_grids = np.asarray(network(rows))
        with fixed_ranges(network, ranges):
            expected = np.asarray(network(rows))
    answers = ask(folder / WEB_STATIC_FILE, rows)
    # The best of nearly equal answers of an untrained model is a matter of chance.
    assert task.agreement(expected, answers, mask).mean() >= 0.9
    counted = mask.astype(bool) if expected.shape[:2] == mask.shape else slice(None)
    far, grids = (np.abs(values - expected)[counted].mean() for values in (answers, without_grids))
    assert far < grids / 2
    graph = onnx.load(folder / WEB_STATIC_FILE).graph
    kinds = Counter(node.op_type for node in graph.node)
    assert kinds["DequantizeLinear"] > kinds["QuantizeLinear"] > 0
    assert kinds["LayerNormalization"] == 1 + 2 * 2
    # What OpenVINO runs without operations between: states keep their axes, and queries and keys are int8 around 0.
    assert kinds["Reshape"] - kinds["Transpose"] <= 1, "heads are split and joined; one more in a head"
    zeros = {tensor.name: tensor.data_type for tensor in graph.initializer if not tensor.dims}
    rounded = [zeros[node.input[2]] for node in graph.node if node.op_type == "QuantizeLinear"]
    assert rounded.count(onnx.TensorProto.INT8) == 2 * 2


def test_no_pair_of_products_exceeds_int16(exported):
    """x86 processors without VNNI add pairs of products of uint8 and int8 in int16, which saturates."""
    kernels = kernels_of(exported[1] / WEB_STATIC_FILE)
    assert len(kernels) >= 2 * 6 - 1
    for kernel in kernels:
        assert 255 * (np.abs(kernel[0::2]) + np.abs(kernel[1::2])).max() < 2**15
        assert np.abs(kernel).max() == 64


def test_a_kernel_beside_no_grid_stays_float(tmp_path):
    task = make_task("classification")
    left = ("block_0/attention/value",)
    ranges = QuantizationAware(task.network(), [rows_of(task)], float_layers=left).finish()
    export_transformers_js(task, tmp_path, ranges=ranges)
    graph = onnx.load(tmp_path / WEB_STATIC_FILE).graph
    sizes = ([32, 32], [32, 64], [64, 32])
    kinds = Counter(tensor.data_type for tensor in graph.initializer if tensor.dims in sizes)
    kernels = {onnx.TensorProto.INT8: 2 * 6 - 1, onnx.TensorProto.FLOAT: 1}
    assert kinds == kernels | {onnx.TensorProto.UINT8: 1}, "the table of positions has a grid of its own"


@pytest.mark.parametrize("exported", ["question_answering"], indirect=True)
def test_equal_tasks_give_equal_folders(exported, tmp_path):
    task, folder, ranges = exported
    export_transformers_js(task, tmp_path, ranges=ranges)
    names = sorted(path.relative_to(folder) for path in (folder / WEB_FOLDER).rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_states_whose_squares_float16_does_not_hold(tmp_path):
    task = make_task("classification")
    weights = {weight.path: weight for weight in task.model.weights}
    weights["block_0/feed_forward_norm/gamma"].assign(np.full(32, 700.0))
    # Such states would make attention a choice of one, and rounding choose another.
    weights["block_1/attention/query/kernel"].assign(np.zeros((32, 32)))
    export_transformers_js(task, tmp_path)
    encoded = task.tokenizer.encode(make_texts(16, 12), max_length=LENGTH)
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    expected = np.asarray(task.network()(rows))
    answers = ask(tmp_path / WEB_HALF_FILE, rows)
    check_parity("float16", expected, answers, parity_tolerance(expected, rows["padding_mask"], half=True))


@pytest.mark.parametrize(
    "settings",
    long_but(
        [{"pooling": "cls+mean"}], [{"dimension": 12}, {"projections": [Projection(units=12)]}, {"pooling": "cls+mean"}]
    ),
)
def test_pooled_states_are_the_vectors_of_predict(settings, tmp_path):
    task = make_task("embedding")
    task = Embedding.build(task.encoder, task.tokenizer, max_length=LENGTH, **settings)
    export_transformers_js(task, tmp_path)
    texts = make_texts(8, 12)
    encoded = task.tokenizer.encode(texts, max_length=LENGTH)
    inputs = {name: np.asarray(encoded[ours], np.int64) for ours, name in INPUTS.items()}
    names, session = [HIDDEN_STATES, SENTENCE_VECTOR], open_session(tmp_path / WEB_FILE)
    states, vectors = session.run(names, inputs)
    expected = task.predict(texts)
    np.testing.assert_allclose(vectors, expected, atol=1e-4)
    mask = inputs["attention_mask"][..., None]
    pooled = (states * mask).sum(axis=1) / mask.sum(axis=1)
    np.testing.assert_allclose(pooled, expected, atol=1e-4)
    described = json.loads((tmp_path / WEB_FOLDER / "1_Pooling" / "config.json").read_text())
    assert (described["word_embedding_dimension"], described["pooling_mode_mean_tokens"]) == (expected.shape[1], True)


def test_a_model_without_segments_takes_none(tmp_path):
    task = make_task("regression", num_segments=0)
    export_transformers_js(task, tmp_path)
    assert [value.name for value in onnx.load(tmp_path / WEB_FILE).graph.input] == ["input_ids", "attention_mask"]


def test_questions_in_other_pieces_have_no_segments_in_the_browser():
    tokenizer = SubwordTokenizer(json.loads(subwords.bpe()))
    with pytest.raises(ValueError, match=r"question and context apart, for WordPiece alone, got a bpe tokenizer$"):
        TransformersJs().check(make_task("question_answering", tokenizer=tokenizer))
    TransformersJs().check(make_task("question_answering", tokenizer=tokenizer, num_segments=0))
    TransformersJs().check(make_task("classification", tokenizer=tokenizer))


def make_classifier(family, folder):
    """A classifier on the encoder of a family whose graph is not BERT's."""
    make_checkpoint(folder / family, family, ("cow", "hen", "fox", "oak"))
    base = from_hugging_face(folder / family)
    return Classification.build(base.encoder, base.tokenizer, labels=["a", "b"], max_length=16, pooling="mean")


@pytest.mark.parametrize("family", long_but(["deberta-v2"], ("deberta-v2", "longformer")))
def test_what_a_graph_counts_in_floats_is_counted_exactly(family, tmp_path):
    task = make_classifier(family, tmp_path)
    export_transformers_js(task, tmp_path)
    encoded = task.tokenizer.encode(["hen", "cow oak fox " * 3, "oak oak hen"], max_length=16)
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    expected = np.asarray(task.network()(rows))
    for name in (WEB_FILE, WEB_HALF_FILE):
        tolerance = parity_tolerance(expected, rows["padding_mask"], half=name == WEB_HALF_FILE)
        check_parity(name, expected, ask(tmp_path / name, rows), tolerance)


def test_a_choice_between_graphs_has_no_float16(tmp_path):
    with pytest.raises(ValueError, match=r"bigbird's graph chooses between two branches"):
        TransformersJs().check(make_classifier("big_bird", tmp_path))
