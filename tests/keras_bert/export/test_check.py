import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.check import ParityError, check_agreement, check_parity, lint_tflite

REFERENCE = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.4]], np.float32)


def test_parity_returns_the_largest_difference():
    assert check_parity("same", REFERENCE, REFERENCE.copy(), 0.0) == 0.0
    assert check_parity("near", REFERENCE, REFERENCE + 1e-3, 1e-2) == pytest.approx(1e-3, rel=1e-3)


def test_a_planted_difference_names_model_difference_tolerance_and_row():
    candidate = REFERENCE.copy()
    candidate[1, 0] += 0.25
    with pytest.raises(ParityError, match=r"^model.onnx must differ by at most 0.0001 .* got 0.25 in row 1: \[3.25"):
        check_parity("model.onnx", REFERENCE, candidate, 1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_never_pass(bad):
    candidate = REFERENCE.copy()
    candidate[2, 1] = bad
    with pytest.raises(ParityError, match="in row 2"):
        check_parity("model", REFERENCE, candidate, 1e9)
    with pytest.raises(ParityError, match=r"must answer with finite numbers, got .* in row 2"):
        check_agreement("model", REFERENCE, candidate, 0.1)


@pytest.mark.parametrize("compare", [check_parity, check_agreement])
@pytest.mark.parametrize("candidate", [REFERENCE[:2], REFERENCE[:, :1], np.zeros((0, 2))])
def test_other_shapes_are_refused(compare, candidate):
    with pytest.raises(ParityError, match="must answer \\(rows, labels\\) like its reference"):
        compare("model", REFERENCE, candidate, 1.0)


def test_agreement_counts_the_rows_with_the_same_answer():
    candidate = REFERENCE.copy()
    candidate[2] = candidate[2][::-1]
    assert check_agreement("int8", REFERENCE, candidate, 0.6) == pytest.approx(2 / 3)
    assert check_agreement("int8", REFERENCE, candidate, 0.9) == pytest.approx(2 / 3), "one row may always tip over"
    candidate[1] = candidate[1][::-1]
    with pytest.raises(
        ParityError, match=r"^int8 must choose .* at least 0.9000 of the rows, got 0.3333; first in row 1"
    ):
        check_agreement("int8", REFERENCE, candidate, 0.9)


def test_operations_are_counted_by_type_of_result(files):
    counts = lint_tflite(files / "model_float32.tflite")
    assert counts["FULLY_CONNECTED float32"] == 8
    assert counts["SOFTMAX float32"] == 1
    assert list(counts) == sorted(counts)


def test_operations_that_are_not_built_in_are_refused(tmp_path):
    function = tf.function(lambda x: tf.linalg.det(x), [tf.TensorSpec((2, 2), tf.float32)], autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    (tmp_path / "flex.tflite").write_bytes(converter.convert())
    with pytest.raises(ParityError, match="must hold built-in operations only, got FlexMatrixDeterminant"):
        lint_tflite(tmp_path / "flex.tflite")
