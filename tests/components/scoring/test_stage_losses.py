"""Losses of the stages between a teacher and the shipped file."""

import pytest

from components.artifacts.evaluation import MeasuredModel, SeedScores
from components.scoring.bootstrap import Interval
from components.scoring.classification import ClassificationScoring
from components.scoring.significance import PairedDifference, compare_models
from components.scoring.stage_losses import describe_lost_share, describe_stage_losses
from components.sources.table import TextRow
from tests.components.scoring.paired_models import LABELS, draw_labels

SHIPPED = "tflite int8"
CHANGES = {
    "student": ["raise distillation.epochs (3)", "add texts"],
    "pruning": ["lower pruning.sparsity (0.5)"],
    "quantization": ["raise quantization.epochs (1)"],
}
LEAD = "of the 20.00 points that the teacher adds over the bag of n-grams"


def row(*accuracy, **more):
    return MeasuredModel({"accuracy": SeedScores.of(accuracy)}, **more)


def table(**scores):
    names = {"float32": "tflite float32", "int8": SHIPPED}
    rows = {"majority class": row(0.5, trivial=True), "bag of n-grams": row(0.7, baseline=True), "teacher": row(0.9)}
    return rows | {names.get(name, name): row(score) for name, score in scores.items()}


def describe(rows, *, high=-0.001, p_value=None, **changes):
    """The losses where each difference has an interval that ends at `high` if it is a loss."""

    def compare(first, second, metric):
        difference = rows[first].metrics[metric].mean - rows[second].metrics[metric].mean
        return PairedDifference(difference, Interval(-0.2, high if difference < 0 else 0.1), p_value)

    return describe_stage_losses(rows, next(iter(rows["teacher"].metrics)), SHIPPED, changes or CHANGES, compare)


def test_a_stage_is_named_with_its_figures_and_what_to_change():
    assert describe(table(student=0.85, float32=0.85, int8=0.845)) == [
        "distillation lost accuracy: student 85.00 is below teacher 90.00 (difference -5.00, 95 % interval -20.00 to "
        f"-0.10); the loss is 25 % {LEAD}; to lose less, raise distillation.epochs (3), or add texts"
    ]
    assert describe(table(student=0.895, float32=0.895, int8=0.89)) == []


@pytest.mark.parametrize(
    ("float32", "int8", "names"),
    [
        (0.85, 0.85, ["pruning and the quantization of weights"]),
        (0.90, 0.85, ["the quantization of activations"]),
        (0.87, 0.85, ["pruning and the quantization of weights", "the quantization of activations"]),
        # Neither half loses more than a point.
        (0.892, 0.884, ["pruning and quantization"]),
        (None, 0.85, ["pruning and quantization"]),
    ],
)
def test_a_float_file_tells_weights_and_activations_apart(float32, int8, names):
    rows = table(student=0.90, int8=int8, **({} if float32 is None else {"float32": float32}))
    assert [loss.partition(" lost accuracy: ")[0] for loss in describe(rows)] == names


def test_stages_that_lose_little_alone_are_judged_together():
    (loss,) = describe(table(student=0.892, int8=0.884), quantization=["train"], student=[])
    assert loss.startswith("distillation and quantization lost accuracy: tflite int8 88.40 is below teacher 90.00 ")
    assert loss.endswith("; to lose less, train")


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (table(int8=0.85), ["pruning"]),
        ({**table(int8=0.85), "teacher (column)": row(0.95)}, ["pruning"]),
        ({"teacher (column)": row(0.95), "teacher": row(0.9)}, []),
    ],
)
def test_a_job_without_student_has_fewer_stages(rows, names):
    rows = {SHIPPED: row(0.9)} | rows
    assert [loss.partition(" lost accuracy: ")[0] for loss in describe(rows, pruning=["prune less"])] == names


@pytest.mark.parametrize(("high", "p_value"), [(0.001, None), (-0.001, 0.06)])
def test_a_loss_by_chance_is_none(high, p_value):
    assert describe(table(student=0.85, int8=0.80), high=high, p_value=p_value) == []


@pytest.mark.parametrize(
    ("students", "is_loss"),
    [
        ((0.86, 0.88, 0.81), True),  # 5.0 ± 3.6 points
        ((0.91, 0.82, 0.88), False),  # 3.0 ± 4.6 points
        ((0.87,), True),  # of several teachers
    ],
)
def test_a_loss_within_the_spread_over_seeds_is_none(students, is_loss):
    rows = table() | {"teacher": row(0.90, 0.90, 0.90), "student": row(*students), SHIPPED: row(*students)}
    assert bool(describe(rows)) is is_loss


@pytest.mark.long
def test_models_that_are_alike_in_the_long_run_raise_few_alarms():
    scoring, alarms = ClassificationScoring(), []
    for seed in range(100):
        truth, first, second = draw_labels(200, errors=(0.1, 0.1), seed=seed)
        rows = [TextRow(str(number), label) for number, label in enumerate(truth)]
        answers = {"teacher": [first], SHIPPED: [second]}
        models = {
            name: row(scoring.score(rows, answer, LABELS).metrics["accuracy"]) for name, (answer,) in answers.items()
        }
        alarms += describe_stage_losses(
            models,
            "accuracy",
            SHIPPED,
            {"quantization": []},
            lambda one, other, name: compare_models(scoring, rows, answers[one], answers[other], LABELS, name),  # noqa: B023
        )
    # 2.5 % of 100; more than 8 come up once in 1,000 such series (binomial).
    assert len(alarms) <= 8


def test_errors_of_a_regression_are_judged_by_r2():
    def numbers(spearman, r2, rmse, **more):
        scores = {"spearman": spearman, "r2": r2, "rmse": rmse}
        return MeasuredModel({name: SeedScores.of([value]) for name, value in scores.items()}, **more)

    rows = {"training mean": numbers(0.0, 0.0, 1000.0, trivial=True), "teacher": numbers(0.9, 0.8, 450.0)}
    (loss,) = describe(rows | {"student": numbers(0.9, 0.6, 630.0), SHIPPED: numbers(0.9, 0.6, 630.0)})
    assert loss.startswith("distillation lost r2: student 60.00 is below teacher 80.00 (difference -20.00, ")
    assert "; the loss is 25 % of the 80.00 points that the teacher adds over the training mean; " in loss
    assert describe(rows | {"student": numbers(0.9, 0.795, 455.0), SHIPPED: numbers(0.9, 0.795, 455.0)}) == []


def test_a_teacher_below_a_baseline_is_to_be_improved_first():
    rows = table(student=0.85, int8=0.85) | {"frozen encoder": row(0.91, baseline=True)}
    (loss,) = describe(rows)
    assert loss.endswith("; improve the teacher first, which adds nothing over 91.00 of the frozen encoder")


@pytest.mark.parametrize(
    ("loss", "share"), [(0.05, f"the loss is 25 % {LEAD}"), (0.5, f"the loss is 100 % {LEAD}"), (0.0, ""), (-0.1, "")]
)
def test_a_share_is_of_the_lead_over_the_best_baseline(loss, share):
    assert describe_lost_share(table(), "accuracy", loss) == (True, share)
    assert describe_lost_share({"teacher": row(0.9)}, "accuracy", loss) == (True, "")
