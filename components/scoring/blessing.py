"""Whether a model may be pushed."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import pydantic

from components.artifacts.evaluation import Decision, MeasuredModel, SliceScore
from components.scoring.significance import PairedDifference
from components.scoring.slices import check_slice_names, judge_slices
from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, PositiveShare, Share, validated_dataclass

TEACHER, STUDENT, PREVIOUS = "teacher", "student", "pushed before"
# A teacher whose answers stand in the examples.
COLUMN = "teacher (column)"
UNTRAINED = "checkpoint, not trained"
# The checkpoint as it is, with a head that was fitted to its vectors.
FROZEN = "frozen encoder"
BelowBaseline = Literal["warn", "refuse"]
# The start of the reason for ignoring the version that was pushed before.
NOT_COMPARED = "not compared: "
Points = Annotated[float, pydantic.Field(ge=0, le=100)]
# Setting -> the column of the table that it limits.
BUDGETS = {
    "max_megabytes": "megabytes",
    "max_download_megabytes": "download_megabytes",
    "max_milliseconds": "milliseconds",
}

# Correlations do not show that numbers are a thousand times too small; these do.
_EXPLAINED, _ERROR = "r2", "rmse"

# Reference -> metric -> the difference of the shipped file from the reference, on the same rows.
Differences = Mapping[str, Mapping[str, PairedDifference]]


@validated_dataclass
class Thresholds:
    """Requirements for a model to be blessed; scores are points of a metric on test rows, 0 to 100.

    A loss against another model counts only if it exceeds its limit significantly: the whole paired bootstrap interval
    lies beyond the limit and, if each test row is right or wrong, McNemar's test agrees. A baseline refuses a file by
    its score alone, as a model has to show that it is worth its size.

    Attributes:
        metric: the metric that decides; empty for the main metric of the task.
        min_score: minimum score of the shipped file in points, 0 or 1 to 100; it must also beat the task's trivial
            answer, such as the majority class.
        max_export_loss: maximum loss in points of the shipped file against the float model that it was exported from;
            for a regression in R2, too.
        max_regression: maximum loss in points of the shipped file against the version pushed before, if that version
            has the same task and labels; for a regression in R2, too.
        min_share_of_teacher: minimum ratio of the shipped file's score to the teacher's, 0 to 1; 0 for no minimum.
        below_baseline: what happens to a shipped file whose score is below a baseline's: it is not blessed (`refuse`),
            or there is a warning (`warn`). A file above it gets a warning if the difference is not significant.
        max_megabytes: maximum size of the shipped file in megabytes, as it is pushed; None for no limit.
        max_download_megabytes: likewise of its size after deflate; None for no limit.
        max_milliseconds: maximum time in milliseconds of one answer of the shipped file, as the median of test rows on
            one thread; None for no limit.
        slice_columns: columns of the table of the examples; the rows of each value are scored separately. Rows are also
            scored by length and by the share of unknown tokens.
        min_slice_scores: slice -> its minimum score in points: `NAME=VALUE`, as in the report, or `NAME` for all
            values. A file is refused if the whole confidence interval of a slice lies below its minimum.
        min_precision: minimum share of correct answers among the confident ones, above 0 and at most 1: validation rows
            must give a confidence threshold that reaches it. None answers all rows without a threshold.
        accelerator_rows: the number of test rows that are scored on each engine of `[export] accelerators`, or on its
            simulator, that can run here: LiteRT's GPU engine (0.5 to 0.7 s a row on the processor), Qualcomm's HTP (1
            to 9 s). 0 for none.
    """

    metric: str = ""
    min_score: Points = 0.0
    max_export_loss: Points = 1.5
    max_regression: Points = 1.0
    min_share_of_teacher: Share = 0.0
    below_baseline: BelowBaseline = "refuse"
    max_megabytes: pydantic.PositiveFloat | None = None
    max_download_megabytes: pydantic.PositiveFloat | None = None
    max_milliseconds: pydantic.PositiveFloat | None = None
    slice_columns: tuple[NonEmptyStr, ...] = ()
    min_slice_scores: dict[str, Points] = dataclasses.field(default_factory=dict)
    min_precision: PositiveShare | None = None
    accelerator_rows: pydantic.NonNegativeInt = 100

    @pydantic.model_validator(mode="after")
    def _check_points(self) -> Self:
        rule = f"be 0, or 1 to 100 points (a share of {self.min_score:g} is {100 * self.min_score:g} points)"
        check("Thresholds", "min_score", not 0 < self.min_score < 1, rule, self.min_score)
        check_slice_names(self.slice_columns, self.min_slice_scores)
        return self


def decide(
    rows: Mapping[str, MeasuredModel],
    metric: str,
    shipped: str,
    thresholds: Thresholds,
    calibration: Mapping[str, Any] | None = None,
    *,
    files: Sequence[str] = (),
    differences: Differences | None = None,
    slices: Sequence[SliceScore] = (),
    engines: Mapping[str, tuple[Mapping[str, MeasuredModel], MeasuredModel, Differences]] | None = None,
    further: Sequence[tuple[bool, str]] = (),
) -> Decision:
    """Decides whether the shipped file may be pushed.

    The reasons say what was compared; the reason of a refusal names the setting that would allow it.

    `rows` are the models of the table by name, `shipped` is one of these names, and `files` are the names of all files
    that are pushed, if there are others. `differences` are those of the shipped file from its references; a reference
    that is missing there is compared by its score. `engines` has the shipped file in the engine of a chip, by the
    engine's name: its reference models by name, the model in the engine, and its differences from the references.
    `further` are verdicts of capabilities, see `FurtherRows`.
    """
    points = {name: 100 * row.metrics[metric].mean for name, row in rows.items()}
    score = points[shipped]
    floor = f"{shipped} {metric} {score:.2f} must be at least"
    verdicts = [(_reaches(score, thresholds.min_score), f"{floor} evaluation.min_score {thresholds.min_score:.2f}")]
    verdicts += judge_losses(rows, metric, shipped, thresholds, differences or {})
    for name, (references, model, of_engine) in (engines or {}).items():
        verdicts += judge_losses({**references, name: model}, metric, name, thresholds, of_engine)
    share = thresholds.min_share_of_teacher
    if share:
        teacher = points.get(teacher_of(rows), math.nan)
        rule = f"evaluation.min_share_of_teacher {share:g} of the teacher's {teacher:.2f}"
        verdicts.append((_reaches(score, share * teacher), f"{floor} {rule}"))
    for name in (name for name, row in rows.items() if row.trivial):
        beaten = score > points[name]
        verdicts.append((beaten, f"{shipped} {metric} {score:.2f} must be above the {name}'s {points[name]:.2f}"))
        # For a regression, the error of each file is compared with the error of the mean of the training rows.
        for file in files or (shipped,):
            if _ERROR in rows[file].metrics:
                error, limit = (rows[row].metrics[_ERROR].mean for row in (file, name))
                verdicts.append((error < limit, f"{file} {_ERROR} {error:.4g} must be below the {name}'s {limit:.4g}"))
    refused, warnings = _compare_with_baselines(rows, metric, shipped, thresholds, differences or {})
    verdicts += [(False, rule) for rule in refused]
    for setting, column in BUDGETS.items():
        budget = getattr(thresholds, setting)
        if budget is not None:
            size = getattr(rows[shipped], column)
            size = math.nan if size is None else size  # of what is no file: not within the limit
            rule = f"must be at most evaluation.{setting} {budget:g}"
            verdicts.append((size <= budget, f"{shipped} {column} {size:.2f} {rule}"))
    verdicts += [*further, *judge_slices(slices, thresholds.min_slice_scores)]
    if calibration is not None and "threshold" in calibration:
        rule = f"evaluation.min_precision {calibration['min_precision']:g}"
        if calibration["threshold"] is None:
            rule += " must be reached by validation rows above some confidence, and is by none"
        else:
            kept = 100 * calibration["validation"]["kept"]["share"]
            rule += f" is reached from {calibration['threshold']:.4f} on, by {kept:.2f} % of validation rows"
        verdicts.append((calibration["threshold"] is not None, rule))
    return Decision(
        blessed=all(holds for holds, _ in verdicts),
        reasons=[f"{'yes' if holds else 'NO'}: {rule}" for holds, rule in verdicts],
        warnings=warnings,
    )


def _compare_with_baselines(
    rows: Mapping[str, MeasuredModel], metric: str, shipped: str, thresholds: Thresholds, differences: Differences
) -> tuple[list[str], list[str]]:
    """The baselines that refuse the shipped file, and warnings; see `Thresholds.below_baseline`."""
    refused, warnings, score = [], [], 100 * rows[shipped].metrics[metric].mean
    baselines = {name: 100 * row.metrics[metric].mean for name, row in rows.items() if row.baseline}
    for name, points in baselines.items():
        difference, reaches = differences.get(name, {}).get(metric), _reaches(score, points)
        comparison = f"{shipped} {metric} {score:.2f} is {'not ' * reaches}below {points:.2f} of the baseline {name}"
        comparison += "" if difference is None else f": {difference}"
        if reaches:
            is_strongest = points == max(value for value in baselines.values() if _reaches(score, value))
            if is_strongest and difference is not None and not difference.is_gain:
                warnings.append(f"{comparison}; the difference is not significant; more test rows may show one")
        elif name == UNTRAINED and STUDENT in rows:
            warnings.append(f"{comparison}; a student is smaller than the checkpoint")
        elif name == FROZEN:
            warnings.append(f"{comparison}, which has the float encoder before fine-tuning and a linear head")
        elif thresholds.below_baseline == "refuse":
            refused.append(f"{comparison} (evaluation.below_baseline)")
        else:
            warnings.append(f'{comparison}; evaluation.below_baseline = "refuse" keeps such a file from being pushed')
    return refused, warnings


def teacher_of(rows: Mapping[str, MeasuredModel]) -> str:
    """The name of the teacher's row: a fine-tuned model, or else the teacher's answers in the examples."""
    return TEACHER if TEACHER in rows else COLUMN


def _reaches(score: float, floor: float) -> bool:
    # A hair of tolerance: percentages of counts do not subtract exactly.
    return score >= floor - 1e-9


def judge_losses(
    rows: Mapping[str, MeasuredModel], metric: str, shipped: str, thresholds: Thresholds, differences: Differences
) -> Iterator[tuple[bool, str]]:
    """Compares the shipped file with the float model that it was made from, and with the previous version."""
    source = next((name for name in (STUDENT, TEACHER) if name in rows and name != shipped), None)
    references = ((source, "max_export_loss", f"the {source}'s"), (PREVIOUS, "max_regression", "the version before's"))
    for reference, setting, whose in references:
        if reference is None or reference not in rows:
            continue
        allowed = getattr(thresholds, setting)
        for name in loss_metrics(rows[shipped].metrics, metric):
            score, before = (100 * rows[row].metrics[name].mean for row in (shipped, reference))
            limit = f"{whose} {before:.2f} - evaluation.{setting} {allowed}"
            difference = differences.get(reference, {}).get(name)
            if difference is None:
                yield _reaches(score, before - allowed), f"{shipped} {name} {score:.2f} must be at least {limit}"
            else:
                rule = f"must not be significantly below {limit}: {difference}"
                yield not difference.is_loss_beyond(allowed / 100), f"{shipped} {name} {score:.2f} {rule}"


def loss_metrics(metrics: Collection[str], metric: str) -> list[str]:
    """The metrics whose loss is limited: the main one, and for regression R2, which falls if the scale is wrong."""
    return [metric, *([_EXPLAINED] if _EXPLAINED in metrics and metric != _EXPLAINED else [])]
