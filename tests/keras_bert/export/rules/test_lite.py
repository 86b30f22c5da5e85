"""Rules of `.tflite` files, each with a fault that was planted."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export import tflite
from keras_bert.export.rules import lite
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import LiteGraph, Operation, Tensor, count_operations, read_graphs
from keras_bert.layers import attention
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids

STATIC = "static_wi8_ai8"
FLOATS = Expected(50)


def breaches(rule, path, expected=FLOATS):
    return [breach for graph in read_graphs(path) for breach in rule(graph, expected)]


def convert(path, function, *specs, flex=False):
    """A function of given tensors as a file with one signature."""
    serve = tf.function(function, input_signature=specs, autograph=False)
    tf.saved_model.save(tf.Module(), str(path.parent / "saved"), signatures={"serve": serve})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(path.parent / "saved"), signature_keys=["serve"])
    if flex:
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    path.write_bytes(converter.convert())
    return path


def export_static(path, **changes):
    """A model all of whose numbers are integers."""
    export_on_grids(tiny.build(**changes), STATIC, path, rows=tiny.make_rows(16)[0])
    return path


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    return export_static(tmp_path_factory.mktemp("static") / "model.tflite")


@pytest.mark.parametrize("rule", lite.LITE_RULES)
def test_files_as_they_are_written_keep_every_rule(rule, files, static):
    for name in ("model.tflite", "model_float32.tflite"):
        assert not breaches(rule, files / name, Expected(2000))
    assert not breaches(rule, static, Expected(50, recipe=STATIC))


def test_operations_are_counted_by_type_of_result(files):
    counts = count_operations(files / "model_float32.tflite")
    assert counts["FULLY_CONNECTED float32"] == 8
    assert counts["SOFTMAX float32"] == 1
    assert list(counts) == sorted(counts)


def test_operations_of_tensorflow_are_found(tmp_path):
    path = convert(
        tmp_path / "model.tflite",
        lambda given: {"found": tf.linalg.det(given)},
        tf.TensorSpec((2, 2), tf.float32, name="given"),
        flex=True,
    )
    (breach,) = breaches(lite.built_in_operations, path)
    assert breach == "operation 0 of graph 0 must be built into LiteRT, got FlexMatrixDeterminant"


def test_long_ids_and_sizes_that_are_not_known_are_found(tmp_path):
    def serve(token_ids):
        return {"found": tf.cast(token_ids, tf.float32)}

    path = convert(tmp_path / "model.tflite", serve, tf.TensorSpec((1, None), tf.int64, name="token_ids"))
    assert breaches(lite.int32_inputs, path) == ["input token_ids must be int32, got int64"]
    shapes = breaches(lite.fixed_shapes, path)
    assert len(shapes) == 2
    assert all(breach.endswith("must have a fixed shape, got [1, -1]") for breach in shapes)


def test_an_operation_that_stays_float_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(tflite, "simplify_operands", lambda model: None)
    path = export_static(tmp_path / "model.tflite")
    faults = breaches(lite.integers_alone, path, Expected(50, recipe=STATIC))
    assert len(faults) == 3, "a negative in each normalization"
    assert all(breach.endswith(", NEG, must give integers with static_wi8_ai8, got float32") for breach in faults)
    assert not breaches(lite.integers_alone, path, Expected(50, recipe="mixed_wi8_ai8"))
    faults = breaches(lite.operands_for_accelerators, path)
    assert sum("NEG, must be a product or a difference" in fault for fault in faults) == 3
    for axes in (3, 4):
        assert any(f"ADD, must read {axes} axes, got [" in fault for fault in faults), "positions, and the mask"


def test_layers_that_were_left_float_are_none_of_those():
    made = Tensor("model_1/block_0_1/attention_1/key_1/MatMul", "float32", (1, 8), None)
    graph = LiteGraph([made], [Operation("operation 0 of graph 0", "FULLY_CONNECTED", True, (), (0,))], {})
    for layers, count in (((), 1), (("block_0/attention/key",), 0), (("block_0/attention/query",), 1)):
        assert len(list(lite.integers_alone(graph, Expected(50, (), STATIC, layers)))) == count


def test_a_mask_that_takes_the_range_of_the_scores_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "MASK_BIAS", -1e9)
    path = export_static(tmp_path / "model.tflite")
    (breach,) = breaches(lite.fine_scores, path, Expected(50, recipe=STATIC))
    rule, got = breach.removesuffix(": is the mask's constant too large?").split(", got ")
    assert rule == "operation 40 of graph 0, SOFTMAX, must read scores in steps of at most 2"
    assert float(got) > 1e6, "less than 300 steps for all of it"


def test_a_table_of_another_vocabulary_is_found(files):
    faults = breaches(lite.vocabulary_in_table, files / "model.tflite", Expected(1999))
    assert len(faults) == 2, "one a signature"
    assert faults[0].endswith("GATHER: the table must have as many rows as the vocabulary has entries, 1999, got 2000")


def test_ids_that_are_not_looked_up_are_found(tmp_path):
    def serve(token_ids):
        return {"found": tf.cast(token_ids, tf.float32) * np.float32(2)}

    path = convert(tmp_path / "model.tflite", serve, tf.TensorSpec((1, 8), tf.int32, name="token_ids"))
    assert breaches(lite.vocabulary_in_table, path) == ["input token_ids must be looked up in a table, found none"]
