"""The decision to bless."""

from typing import Any

import pytest

from components.scoring.blessing import Thresholds, decide

SHIPPED = "tflite int8"


def row(accuracy: float, **more: Any) -> dict[str, Any]:
    return {"metrics": {"accuracy": {"mean": accuracy, "sd": None, "seeds": [accuracy]}}, **more}


def table(int8: float, *, student: float = 0.90, majority: float = 0.5, before: float | None = None) -> dict[str, Any]:
    rows = {
        "majority class": row(majority, trivial=True),
        # A rival that is no threshold: that it is better is told by the table.
        "bag of n-grams": row(0.99),
        "teacher": row(0.95),
        "student": row(student),
        SHIPPED: row(int8),
    }
    return rows if before is None else {**rows, "pushed before": row(before)}


def ask(rows: dict[str, Any], shipped: str = SHIPPED, **thresholds: Any) -> dict[str, Any]:
    return decide(rows, "accuracy", shipped, Thresholds(**thresholds))


@pytest.mark.parametrize(
    ("models", "thresholds", "blessed"),
    [
        (table(0.90), {}, True),
        (table(0.885), {}, True),  # 1.5 points below the student: just allowed
        (table(0.884), {}, False),
        (table(0.884), {"max_export_loss": 1.6}, True),
        (table(0.90), {"min_score": 90.0}, True),
        (table(0.90), {"min_score": 90.1}, False),
        (table(0.90, majority=0.90), {}, False),  # beating the majority class means more than it
        (table(0.90, before=0.91), {}, True),
        (table(0.90, before=0.92), {}, False),
        (table(0.90, before=0.92), {"max_regression": 2.0}, True),
    ],
)
def test_each_threshold_decides(models: dict[str, Any], thresholds: dict[str, Any], blessed: bool) -> None:
    decision = ask(models, **thresholds)
    assert decision["blessed"] is blessed
    assert any(reason.startswith("NO") for reason in decision["reasons"]) is not blessed


@pytest.mark.parametrize(
    ("thresholds", "blessed", "reason"),
    [
        (
            {"min_share_of_teacher": 0.94},
            True,
            "yes: tflite int8 accuracy 90.00 must be at least 0.94 of the teacher's 95.00",
        ),
        (
            {"min_share_of_teacher": 0.95},
            False,
            "NO: tflite int8 accuracy 90.00 must be at least 0.95 of the teacher's 95.00",
        ),
        ({"max_megabytes": 2}, True, "yes: tflite int8 megabytes 2.00 must be at most 2"),
        ({"max_megabytes": 1.9}, False, "NO: tflite int8 megabytes 2.00 must be at most 1.9"),
        ({"max_milliseconds": 0.75}, True, "yes: tflite int8 milliseconds 0.75 must be at most 0.75"),
        ({"max_milliseconds": 0.7}, False, "NO: tflite int8 milliseconds 0.75 must be at most 0.7"),
    ],
)
def test_budgets_decide(thresholds: dict[str, float], blessed: bool, reason: str) -> None:
    rows = table(0.90)
    rows[SHIPPED] |= {"megabytes": 2.0, "milliseconds": 0.75}
    decision = ask(rows, **thresholds)
    assert decision["blessed"] is blessed
    assert reason in decision["reasons"]


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("min_share_of_teacher", 1.5, "between 0 and 1"),
        ("max_megabytes", 0, "above 0"),
        ("max_milliseconds", -1.0, "above 0"),
        ("max_megabytes", float("nan"), "above 0"),
    ],
)
def test_budgets_can_be_kept(field: str, value: float, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"Thresholds.{field} must be {rule}, got {value}"):
        Thresholds(**{field: value})


def test_reasons_say_what_was_compared() -> None:
    assert ask(table(0.80, before=0.92))["reasons"] == [
        "yes: tflite int8 accuracy 80.00 must be at least evaluation.min_score 0.00",
        "NO: tflite int8 accuracy 80.00 must be at least the student's 90.00 - 1.5",
        "NO: tflite int8 accuracy 80.00 must be at least the version before's 92.00 - 1.0",
        "yes: tflite int8 accuracy 80.00 must be above the majority class's 50.00",
    ]


def test_a_file_made_of_the_teacher_is_compared_with_that() -> None:
    rows = {"teacher": row(0.95), "onnx float32": row(0.92)}
    assert ask(rows, "onnx float32")["reasons"] == [
        "yes: onnx float32 accuracy 92.00 must be at least evaluation.min_score 0.00",
        "NO: onnx float32 accuracy 92.00 must be at least the teacher's 95.00 - 1.5",
    ]


def test_a_teacher_that_is_shipped_itself_is_compared_with_nothing() -> None:
    assert ask({"teacher": row(0.3)}, "teacher") == {
        "blessed": True,
        "reasons": ["yes: teacher accuracy 30.00 must be at least evaluation.min_score 0.00"],
    }


@pytest.mark.parametrize("field", ["min_score", "max_export_loss", "max_regression"])
@pytest.mark.parametrize("value", [-1, 100.5, float("nan")])
def test_thresholds_are_points(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"Thresholds.{field} must be between 0 and 100, got {value}"):
        Thresholds(**{field: value})


@pytest.mark.parametrize(("threshold", "blessed"), [(0.75, True), (None, False)])
def test_a_precision_that_no_threshold_reaches_is_not_blessed(threshold: float | None, blessed: bool) -> None:
    kept = {} if threshold is None else {"kept": {"share": 0.8, "precision": 0.97}}
    calibration = {"temperature": 1.2, "min_precision": 0.95, "threshold": threshold, "validation": kept}
    decision = decide(table(0.90), "accuracy", SHIPPED, Thresholds(min_precision=0.95), calibration)
    assert decision["blessed"] is blessed
    reason = decision["reasons"][-1]
    if blessed:
        expected = "yes: evaluation.min_precision 0.95 is reached from 0.7500 on, by 80.00 % of validation rows"
    else:
        rule = "must be reached by validation rows above some confidence, and is by none"
        expected = f"NO: evaluation.min_precision 0.95 {rule}"
    assert reason == expected


@pytest.mark.parametrize("precision", [0.0, 1.01, -0.5])
def test_a_precision_is_a_share(precision: float) -> None:
    with pytest.raises(ValueError, match=r"^Thresholds\.min_precision must be above 0 and at most 1, got "):
        Thresholds(min_precision=precision)
