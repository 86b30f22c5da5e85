import pytest

from keras_bert.options.export import Export
from tests.keras_bert.options.refusals import check_refusal

RUNTIMES = "'tflite', 'onnx', 'mediapipe', 'transformers_js' or 'tflite_text'"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": (32, 2)}, "lengths.1 must be at least 3, got 2"),
        ({"lengths": (32, 32)}, "lengths must hold different items, got [32, 32]"),
        ({"runtimes": ()}, "runtimes must not be empty, got ()"),
        ({"runtimes": ("tflite", "torch")}, f"runtimes.1 must be {RUNTIMES}, got 'torch'"),
        ({"runtimes": ("onnx", "onnx")}, "runtimes must hold different items, got ['onnx', 'onnx']"),
        (
            {"runtimes": ("mediapipe",)},
            "runtimes must hold 'tflite' beside 'mediapipe', got ['mediapipe']",
        ),
        (
            {"runtimes": ("tflite", "transformers_js")},
            "runtimes must hold 'onnx' beside 'transformers_js', got ['tflite', 'transformers_js']",
        ),
        ({"opset": 13}, "opset must be at least 14, got 13"),
        ({"opset": 19}, "opset must be at most 18, got 19"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Export, settings, message)


def test_the_longest_input_has_a_signature_and_none_is_longer():
    export = Export(lengths=(64, 32, 128))
    assert export.choose_lengths(128) == [32, 64, 128]
    assert export.choose_lengths(100) == [32, 64, 100]
    assert export.choose_lengths(384) == [32, 64, 128, 384]
    assert export.choose_lengths(16) == Export(lengths=()).choose_lengths(16) == [16]
