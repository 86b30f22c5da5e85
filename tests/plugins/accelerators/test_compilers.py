"""Files in the compilers and engines of accelerators: `make test-accelerators`."""

import numpy as np
import onnx
import pytest

from keras_bert.accelerators.base import AcceleratorError
from keras_bert.accelerators.recorded import RecordedModel
from keras_bert.accelerators.registry import answer_rows, compile_file, compile_onnx, find_accelerator
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.onnx_chips import export_for_chips
from keras_bert.export.runtimes import OnnxModel
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import build_encoder, input_names
from keras_bert.tasks.classification import build_classifier
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids
from tests.keras_bert.export.test_delegation import FAMILIES
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts

pytestmark = pytest.mark.accelerators


def export(recipe, path, **settings):
    model = build_classifier(build_encoder(tiny.changed(**settings)), 2, pooling="mean")
    if recipe is None:
        export_tflite(model, path, (8,))
    else:
        export_on_grids(model, recipe, path, (8,), tiny.make_rows(8)[0])
    return path


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "static_wi8_ai8"])
def test_npus_take_every_family_in_one_part(family, recipe, tmp_path):
    file = export(recipe, tmp_path / "model.tflite", **FAMILIES[family])
    (tmp_path / "partitioned").mkdir()
    for name in ("qualcomm/SM8650", "intel/LNL"):
        coverage = find_accelerator(name).cover(file, tmp_path / "partitioned", 49)
        assert (coverage.taken, coverage.parts, coverage.left) == (coverage.operations, 1, {}), name


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "modernbert"])
def test_ethos_u85_takes_every_operation_and_u55_leaves_lookups_and_the_mean(family, tmp_path):
    file = export("static_wi8_ai8", tmp_path / "model.tflite", **FAMILIES[family])
    coverage = compile_file("ethos-u85-256", file, tmp_path / "made", 49)
    assert (coverage.taken, coverage.left) == (coverage.operations, {})
    assert 0 < coverage.figures["milliseconds, estimated"] < 10
    assert (tmp_path / "made" / "ethos-u85-256.tflite").stat().st_size > 1000
    left = compile_file("ethos-u55-128", file, tmp_path / "made", 49).left
    assert left.keys() == {"DIV: Unsupported opType", "GATHER: Unsupported opType"}


@pytest.mark.parametrize("family", FAMILIES)
def test_litert_for_microcontrollers_runs_every_family_in_its_arena(family, tmp_path):
    from tflite_micro.python.tflite_micro import runtime

    file = export("static_wi8_ai8", tmp_path / "model.tflite", **FAMILIES[family])
    coverage = compile_file("tflite-micro", file, tmp_path, 49)
    assert coverage.taken == coverage.operations
    made = (tmp_path / "tflite-micro.tflite").read_bytes()
    runtime.Interpreter.from_bytes(made, arena_size=round(1000 * coverage.figures["KB of arena, at most"]))


@pytest.mark.parametrize(
    ("family", "recipe"),
    [
        ("bert", None),
        ("bert", "float16"),
        ("modernbert", "static_wi8_ai8"),
        *((family, "mixed_wi8_ai8") for family in FAMILIES),
    ],
)
def test_the_gpu_runs_files_whole_with_the_answers_of_the_processor(family, recipe, tmp_path):
    file = export(recipe, tmp_path / "model.tflite", **FAMILIES[family])
    try:
        coverage = compile_file("gpu", file, tmp_path / "made", 49)
    except AcceleratorError as error:
        if "needs a driver of Vulkan" in str(error):
            pytest.skip(str(error))
        raise
    assert (coverage.taken, coverage.parts) == (coverage.operations, 1)
    assert not (tmp_path / "made").exists()


def test_a_chip_compiles_for_onnx_runtime_and_its_simulator_answers_as_the_model(tmp_path):
    task = make_task("classification")
    encoded = task.tokenizer.encode(make_texts(4, 12), max_length=LENGTH)
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    ranges = QuantizationAware(task.network(), [rows]).finish()
    graph = export_for_chips(task, tmp_path, ranges)
    compile_onnx("qualcomm/SM8650", graph, tmp_path / "accelerators", [LENGTH], task.tokenizer.vocabulary_size - 1)
    compiled = onnx.load(tmp_path / f"accelerators/qualcomm_SM8650_int8_{LENGTH}.onnx").graph
    assert "EPContext" in {node.op_type for node in compiled.node}
    assert not {"MatMul", "Gemm", "Softmax"} & {node.op_type for node in compiled.node}
    answered = answer_rows("qualcomm/SM8650", tmp_path / "model.tflite", {LENGTH: rows})
    assert (answered.engine, answered.numbers) == ("HTP, simulated", "int8")
    (outputs,) = answered.answers.values()
    np.testing.assert_allclose(outputs["logits"], OnnxModel(graph, LENGTH).predict_on_batch(rows), atol=0.05)


def test_the_gpu_answers_rows_of_every_length(tmp_path):
    model = build_classifier(build_encoder(tiny.changed()), 2, pooling="mean")
    export_tflite(model, tmp_path / "model.tflite", (8, 16))
    recorded = RecordedModel(tmp_path / "model.tflite")
    rows, _ = tiny.make_rows(6)
    expected = recorded.predict_on_batch(rows)
    try:
        answered = answer_rows("gpu", tmp_path / "model.tflite", recorded.rows())
    except AcceleratorError as error:
        if "needs a driver of Vulkan" in str(error):
            pytest.skip(str(error))
        raise
    recorded.replay(answered.answers)
    assert answered.engine.startswith("GPU (")
    np.testing.assert_allclose(recorded.predict_on_batch(rows), expected, atol=1e-3)


def test_a_chip_compiles_ahead_of_time(tmp_path):
    file = export("mixed_wi8_ai8", tmp_path / "model.tflite")
    compile_file("qualcomm/SM8650", file, tmp_path / "made", 49)
    assert b"DISPATCH_OP" in (tmp_path / "made" / "qualcomm_SM8650.tflite").read_bytes()
    with pytest.raises(AcceleratorError, match=r"^intel/LNL needs Intel.s compiler, which is not in "):
        compile_file("intel/LNL", file, tmp_path / "made", 49)
