"""The decision to bless."""

import dataclasses

import pytest

from components.artifacts.evaluation import Decision, MeasuredModel, SeedScores
from components.scoring.blessing import UNTRAINED, Thresholds, decide
from components.scoring.bootstrap import Interval
from components.scoring.significance import PairedDifference

SHIPPED = "tflite int8"


def row(accuracy, **more):
    return MeasuredModel({"accuracy": SeedScores.of([accuracy])}, **more)


def table(int8, *, student=0.90, majority=0.5, before=None):
    rows = {
        "majority class": row(majority, trivial=True),
        # A rival that is not a threshold: that it is better is told by the table.
        "bag of n-grams": row(0.99),
        "teacher": row(0.95),
        "student": row(student),
        SHIPPED: row(int8),
    }
    return rows if before is None else {**rows, "pushed before": row(before)}


def ask(rows, shipped=SHIPPED, **thresholds):
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
def test_each_threshold_decides(models, thresholds, blessed):
    decision = ask(models, **thresholds)
    assert decision.blessed is blessed
    assert any(reason.startswith("NO") for reason in decision.reasons) is not blessed


@pytest.mark.parametrize(
    ("name", "value", "blessed", "reason"),
    [
        ("min_share_of_teacher", 0.94, True, "accuracy 90.00 must be at least {} of the teacher's 95.00"),
        ("min_share_of_teacher", 0.95, False, "accuracy 90.00 must be at least {} of the teacher's 95.00"),
        ("max_megabytes", 2, True, "megabytes 2.00 must be at most {}"),
        ("max_megabytes", 1.9, False, "megabytes 2.00 must be at most {}"),
        ("max_milliseconds", 0.75, True, "milliseconds 0.75 must be at most {}"),
        ("max_milliseconds", 0.7, False, "milliseconds 0.75 must be at most {}"),
    ],
)
def test_budgets_decide(name, value, blessed, reason):
    rows = table(0.90)
    rows[SHIPPED] = dataclasses.replace(rows[SHIPPED], megabytes=2.0, milliseconds=0.75)
    decision = ask(rows, **{name: value})
    assert decision.blessed is blessed
    threshold = reason.format(f"evaluation.{name} {value}")
    assert f"{'yes' if blessed else 'NO'}: tflite int8 {threshold}" in decision.reasons


def test_reasons_say_what_was_compared():
    assert ask(table(0.80, before=0.92)).reasons == [
        "yes: tflite int8 accuracy 80.00 must be at least evaluation.min_score 0.00",
        "NO: tflite int8 accuracy 80.00 must be at least the student's 90.00 - evaluation.max_export_loss 1.5",
        "NO: tflite int8 accuracy 80.00 must be at least the version before's 92.00 - evaluation.max_regression 1.0",
        "yes: tflite int8 accuracy 80.00 must be above the majority class's 50.00",
    ]


def test_a_file_made_of_the_teacher_is_compared_with_that():
    rows = {"teacher": row(0.95), "onnx float32": row(0.92)}
    assert ask(rows, "onnx float32").reasons == [
        "yes: onnx float32 accuracy 92.00 must be at least evaluation.min_score 0.00",
        "NO: onnx float32 accuracy 92.00 must be at least the teacher's 95.00 - evaluation.max_export_loss 1.5",
    ]


def test_a_teacher_that_is_shipped_itself_is_compared_with_nothing():
    assert ask({"teacher": row(0.3)}, "teacher") == Decision(
        True, ["yes: teacher accuracy 30.00 must be at least evaluation.min_score 0.00"], []
    )


@pytest.mark.parametrize(("threshold", "blessed"), [(0.75, True), (None, False)])
def test_a_precision_that_no_threshold_reaches_is_not_blessed(threshold, blessed):
    kept = {} if threshold is None else {"kept": {"share": 0.8, "precision": 0.97}}
    calibration = {"temperature": 1.2, "min_precision": 0.95, "threshold": threshold, "validation": kept}
    decision = decide(table(0.90), "accuracy", SHIPPED, Thresholds(min_precision=0.95), calibration)
    assert decision.blessed is blessed
    reason = decision.reasons[-1]
    if blessed:
        expected = "yes: evaluation.min_precision 0.95 is reached from 0.7500 on, by 80.00 % of validation rows"
    else:
        rule = "must be reached by validation rows above some confidence, and is by none"
        expected = f"NO: evaluation.min_precision 0.95 {rule}"
    assert reason == expected


@pytest.mark.parametrize(
    ("high", "p_value", "blessed"),
    [
        (-0.0151, None, False),
        (-0.0149, None, True),
        (-0.0151, 0.049, False),
        (-0.0151, 0.051, True),  # too few rows tell both apart
    ],
)
def test_only_a_significant_loss_is_refused(high, p_value, blessed):
    # 1.64 points of rounding where 1.5 are allowed.
    difference = PairedDifference(-0.0164, Interval(-0.03, high), p_value)
    differences = {"student": {"accuracy": difference}}
    decision = decide(table(0.8836), "accuracy", SHIPPED, Thresholds(), differences=differences)
    assert decision.blessed is blessed
    rule = "must not be significantly below the student's 90.00 - evaluation.max_export_loss 1.5"
    reason = f"{'yes' if blessed else 'NO'}: tflite int8 accuracy 88.36 {rule}: {difference}"
    assert reason in decision.reasons
    assert f"difference -1.64, 95 % interval -3.00 to {100 * high:+.2f}" in reason


def test_a_file_below_a_baseline_is_refused_or_warned_of():
    rows = table(0.90) | {"bag of n-grams": row(0.91, baseline=True)}
    refused = ask(rows)
    assert not refused.blessed
    assert not refused.warnings
    comparison = "tflite int8 accuracy 90.00 is below 91.00 of the baseline bag of n-grams"
    assert f"NO: {comparison} (evaluation.below_baseline)" in refused.reasons
    warned = ask(rows, below_baseline="warn")
    assert warned.blessed
    assert warned.warnings == [
        f'{comparison}; evaluation.below_baseline = "refuse" keeps such a file from being pushed'
    ]
    assert ask(rows | {SHIPPED: row(0.91)}).blessed


@pytest.mark.parametrize(
    ("low", "high", "p_value"), [(-0.02, -0.001, None), (-0.02, -0.001, 0.06), (-0.02, 0.001, None)]
)
def test_a_better_baseline_refuses_a_file_significantly_or_not(low, high, p_value):
    """A file below one number of TF-IDF was pushed, because McNemar's test and the interval did not agree."""
    rows = table(0.90) | {"bag of n-grams": row(0.91, baseline=True)}
    difference = PairedDifference(-0.01, Interval(low, high), p_value)
    differences = {"bag of n-grams": {"accuracy": difference}}
    decision = decide(rows, "accuracy", SHIPPED, Thresholds(), differences=differences)
    comparison = f"tflite int8 accuracy 90.00 is below 91.00 of the baseline bag of n-grams: {difference}"
    assert f"NO: {comparison} (evaluation.below_baseline)" in decision.reasons
    assert decide(rows, "accuracy", SHIPPED, Thresholds(below_baseline="warn"), differences=differences).blessed


@pytest.mark.parametrize(
    ("low", "p_value", "is_warned"),
    [(0.001, None, False), (0.001, 0.06, True), (-0.001, None, True), (0.0, 0.01, True)],
)
def test_a_file_that_is_hardly_better_than_the_best_baseline_is_warned_of(low, p_value, is_warned):
    rows = table(0.90) | {"BM25": row(0.89, baseline=True), "TF-IDF": row(0.5, baseline=True)}
    difference = PairedDifference(0.01, Interval(low, 0.02), p_value)
    differences = {name: {"accuracy": difference} for name in ("BM25", "TF-IDF")}
    decision = decide(rows, "accuracy", SHIPPED, Thresholds(), differences=differences)
    assert decision.blessed
    comparison = f"tflite int8 accuracy 90.00 is not below 89.00 of the baseline BM25: {difference}"
    warning = f"{comparison}; the difference is not significant; more test rows may show one"
    assert decision.warnings == [warning] * is_warned


def test_vectors_below_those_of_the_untrained_checkpoint_are_refused_but_of_a_student():
    rows = {UNTRAINED: row(0.8883, baseline=True), "teacher": row(0.88), SHIPPED: row(0.8794)}
    comparison = f"tflite int8 accuracy 87.94 is below 88.83 of the baseline {UNTRAINED}"
    assert f"NO: {comparison} (evaluation.below_baseline)" in ask(rows).reasons
    decision = ask(rows | {"student": row(0.88)})
    assert decision.blessed
    assert decision.warnings == [f"{comparison}; a student is smaller than the checkpoint"]


def numbers(r2, rmse, spearman=0.9, **more):
    scores = {"spearman": spearman, "r2": r2, "rmse": rmse}
    return MeasuredModel({name: SeedScores.of([value]) for name, value in scores.items()}, **more)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (numbers(0.80, 0.5), None),
        # A thousand times too small, of labels around 0: hardly better than their mean, and a correlation like before.
        (numbers(0.001, 0.9995), "tflite int8 r2 0.10 must be at least the student's 80.00 - "),
        # And of labels far from 0.
        (numbers(-3.0, 2.0), "tflite int8 rmse 2 must be below the training mean's 1"),
    ],
)
def test_correlations_do_not_bless_numbers_of_a_wrong_scale(file, reason):
    mean = numbers(0.0, 1.0, spearman=0.0, trivial=True)
    rows = {"training mean": mean, "student": numbers(0.80, 0.5), SHIPPED: file}
    decision = decide(rows, "spearman", SHIPPED, Thresholds())
    assert decision.blessed is (reason is None)
    assert any(one_reason.startswith(f"NO: {reason}") for one_reason in decision.reasons) is (reason is not None)


def test_each_file_must_be_better_than_the_training_mean():
    mean = numbers(0.0, 1.0, spearman=0.0, trivial=True)
    rows = {"training mean": mean, SHIPPED: numbers(0.80, 0.5), "onnx float32": numbers(0.0, 1.0)}
    decision = decide(rows, "spearman", SHIPPED, Thresholds(), files=[SHIPPED, "onnx float32"])
    assert not decision.blessed
    assert "NO: onnx float32 rmse 1 must be below the training mean's 1" in decision.reasons
