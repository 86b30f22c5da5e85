"""The decision to bless."""

import pytest

from components.evaluate import Thresholds, decide


def rows(int8: float, *, student: float = 0.90, majority: float = 0.5, before: float | None = None) -> dict:
    accuracies = {"majority class": majority, "student": student, "tflite int8": int8}
    if before is not None:
        accuracies["pushed before"] = before
    return {name: {"accuracy": accuracy} for name, accuracy in accuracies.items()}


@pytest.mark.parametrize(
    ("models", "thresholds", "blessed"),
    [
        (rows(0.90), Thresholds(), True),
        (rows(0.885), Thresholds(), True),  # 1.5 points below the student: just allowed
        (rows(0.884), Thresholds(), False),
        (rows(0.90), Thresholds(min_accuracy=90.0), True),
        (rows(0.90), Thresholds(min_accuracy=90.1), False),
        (rows(0.90, majority=0.90), Thresholds(), False),  # beating the majority class means more than it
        (rows(0.90, before=0.91), Thresholds(), True),
        (rows(0.90, before=0.92), Thresholds(), False),
        (rows(0.90, before=0.92), Thresholds(max_regression=2.0), True),
    ],
)
def test_each_threshold_decides(models: dict, thresholds: Thresholds, blessed: bool) -> None:
    decision = decide(models, thresholds)
    assert decision["blessed"] is blessed
    assert any(reason.startswith("NO") for reason in decision["reasons"]) is not blessed


def test_reasons_say_what_was_compared() -> None:
    assert decide(rows(0.80, before=0.92), Thresholds())["reasons"] == [
        "yes: int8 accuracy 80.00 must be at least evaluation.min_accuracy 0.00",
        "NO: int8 accuracy 80.00 must be at least the float student's 90.00 - 1.5",
        "NO: int8 accuracy 80.00 must be at least the version before's 92.00 - 1.0",
        "yes: int8 accuracy 80.00 must be above the majority class's 50.00",
    ]


def test_thresholds_are_percentages() -> None:
    with pytest.raises(ValueError, match=r"Thresholds.max_int8_loss must be between 0 and 100, got -1"):
        Thresholds(max_int8_loss=-1)
