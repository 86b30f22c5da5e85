import numpy as np
import onnx
import pytest

from keras_bert.export.check import FLOAT32_TOLERANCE, check_parity
from keras_bert.export.onnx import OPSET, export_onnx
from keras_bert.export.runtimes import OnnxModel
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.models.encoder import build_encoder, input_names
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.test_delegation import FAMILIES
from tests.keras_bert.tiny import tiny_config
from tests.samples import long_but

# BigBird in blocks, and a last layer of ModernBERT with local attention.
FIRST_TOKEN_GRAPHS = {
    name: FAMILIES[name] | settings
    for name, settings in {
        "bigbird": {"variant": BigBird(block_size=1, random_blocks=1)},
        "deberta": {},
        "mobilebert": {},
        "modernbert": {"variant": ModernBERT(window=8)},
    }.items()
}


@pytest.mark.parametrize(("count", "length"), [(1, 16), (7, 16), (3, 5)])
def test_any_batch_and_any_length_answer_like_the_model(student, files, count, length):
    rows = {name: values[:, :length] for name, values in tiny.make_rows(count, seed=3)[0].items()}
    reference = np.asarray(student[0](rows))
    check_parity("onnx", reference, OnnxModel(files / "model.onnx", tiny.LENGTH)(**rows), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("activation", long_but(["relu"], ["gelu_erf", "relu"]))
def test_every_activation_runs(tmp_path, activation):
    model = tiny.build(activation=activation)
    export_onnx(model, tmp_path / "model.onnx")
    rows = tiny.make_rows(4)[0]
    answers = OnnxModel(tmp_path / "model.onnx", tiny.LENGTH)(**rows)
    check_parity(activation, np.asarray(model(rows)), answers, FLOAT32_TOLERANCE)


def test_the_file_states_its_names_and_operator_set_and_equal_models_give_equal_bytes(files, student, tmp_path):
    model = onnx.load(files / "model.onnx")
    dimensions = {
        value.name: [dimension.dim_param or dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    inputs = {name: ["batch", "length"] for name in ("token_ids", "segment_ids", "padding_mask")}
    assert dimensions == {**inputs, "logits": ["batch", 2]}
    assert {entry.domain: entry.version for entry in model.opset_import}[""] == OPSET
    export_onnx(student[0], tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (files / "model.onnx").read_bytes()


def test_the_oldest_operator_set_and_an_output_of_another_name(student, tmp_path):
    export_onnx(student[0], tmp_path / "old.onnx", output="scores", opset=14)
    assert {entry.domain: entry.version for entry in onnx.load(tmp_path / "old.onnx").opset_import}[""] == 14
    rows = tiny.make_rows(4)[0]
    answers = OnnxModel(tmp_path / "old.onnx", tiny.LENGTH)(**rows)
    assert answers.keys() == {"scores"}
    check_parity("opset 14", np.asarray(student[0](rows)), answers["scores"], FLOAT32_TOLERANCE)


def make_encoder(variant, *, pooler):
    config = tiny_config(
        max_length=24, num_layers=1, intermediate_size=6, num_segments=0, initializer_range=0.5, variant=variant
    )
    return build_encoder(config, pooler=pooler)


def check_lengths(model, file, lengths):
    runtime, rng = OnnxModel(file, 24), np.random.default_rng(0)
    for length in lengths:
        ids = rng.integers(0, 20, (2, length)).astype("int32")
        rows = {"token_ids": ids, "padding_mask": np.ones((2, length), "int32")}
        check_parity(f"{length} tokens", np.asarray(model(rows)), runtime(**rows), FLOAT32_TOLERANCE)


def test_a_choice_by_length_stands_in_one_file(tmp_path):
    model = build_classifier(make_encoder(BigBird(block_size=2, random_blocks=0), pooler=True), 2)
    for name in ("first", "second"):
        export_onnx(model, tmp_path / f"{name}.onnx")
    first = tmp_path / "first.onnx"
    assert first.read_bytes() == (tmp_path / "second.onnx").read_bytes()
    assert "If" in {node.op_type for node in onnx.load(first).graph.node}
    check_lengths(model, first, (10, 11, 24))  # seen whole, and in blocks


def test_windows_without_global_tokens_run_at_any_length(tmp_path):
    model = build_tagger(make_encoder(Longformer(window=4), pooler=False), 3)
    export_onnx(model, tmp_path / "model.onnx")
    check_lengths(model, tmp_path / "model.onnx", (3, 8, 24))


@pytest.mark.parametrize("family", long_but(["deberta"], FIRST_TOKEN_GRAPHS))
def test_graphs_that_compute_the_first_token_alone_answer_like_the_model(family, tmp_path):
    model = tiny.build(num_layers=2, **FIRST_TOKEN_GRAPHS[family])
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(scale=0.2, size=weight.shape))
    export_onnx(model, tmp_path / "model.onnx")
    file = OnnxModel(tmp_path / "model.onnx", tiny.LENGTH)
    for length in (3, tiny.LENGTH):
        rows = {name: values[:, :length] for name, values in tiny.make_rows(3)[0].items() if name in input_names(model)}
        check_parity(family, np.asarray(model(rows)), file(**rows), FLOAT32_TOLERANCE)
