"""The header of a page: state, errors and headline figures of a run."""

import importlib.metadata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.artifacts.evaluation import SIZES
from components.artifacts.pushed import Pushed
from components.objects.mirror import display_path
from components.scoring.stage_losses import describe_lost_share
from pipeline.report.record import RunRecord, read_end
from pipeline.report.scores import Scores
from pipeline.report.trainings import TrainingCurves
from pipeline.views.terminal import format_seconds, format_time

_DISTRIBUTION = "keras-bert-edge"
_NOTES = {
    "interrupted": "The run was stopped. The same command continues it.",
    "failed": "No step recorded the reason; the terminal showed it.",
    "running": "The run goes on, or was killed.",
}
_REFUSED = (
    "Remove a cause that the message names, train with other data or settings, or change the limit that the message "
    "names. The same command is refused again until then; steps that a change does not concern are used again."
)


class Trouble(NamedTuple):
    """A step that failed or was refused, and how to continue the run."""

    step: str
    state: str
    message: str
    remedy: str
    log: str
    log_file: str


class PageHeader(NamedTuple):
    """The header of a page; figures have a name, a value and an explanation.

    The note explains a run that did not finish, where no step says why.
    """

    pipeline: str
    run: int
    state: str
    started: str
    took: str
    version: str
    troubles: list[Trouble]
    note: str
    figures: list[tuple[str, str, str]]
    pushed: str


def read_header(record: RunRecord, scores: Sequence[Scores], trainings: Sequence[TrainingCurves]) -> PageHeader:
    """Reads the header of a run."""
    run = record.run
    kept = sum(bool(past.outputs) for past in record.steps)
    reuse = {0: "", 1: " and uses the finished step again"}.get(kept, f" and uses the {kept} finished steps again")
    troubles = []
    for step in record.steps:
        done = step.done
        if done.state in ("failed", "refused"):
            file = record.log(step)
            log = read_end(file) if done.state == "failed" else ""
            log_file = file.relative_to(record.root).as_posix() if log else ""
            again = f"Remove the cause, then run the same command: it starts at {step.name}{reuse}."
            remedy = _REFUSED if done.state == "refused" else again
            troubles.append(Trouble(step.name, done.state, done.message, remedy, log, log_file))
    # The figures of the last validation of the last training; earlier ones of a failed run say nothing of its result.
    finished = trainings[-1:] if run.state in ("done", "partial") else ()
    figures = [
        (name, f"{sum(values) / len(values):.4g}", f"{training.name}, on validation rows")
        for training in finished
        for name, values in training.figures.items()
    ]
    return PageHeader(
        pipeline=run.pipeline,
        run=run.id,
        state=run.state,
        started=format_time(run.started),
        took="" if run.ended is None else format_seconds(run.ended - run.started),
        version=importlib.metadata.version(_DISTRIBUTION),
        troubles=troubles,
        note="" if troubles else _NOTES.get(run.state, ""),
        figures=[*_model_headlines(scores[-1])] if scores else figures,
        pushed=next((display_path(Pushed(folder).location()) for _, folder in record.outputs(Pushed.__name__)), ""),
    )


def _model_headlines(scores: Scores) -> Iterator[tuple[str, str, str]]:
    metrics = scores.measured
    metric, shipped, model = metrics.metric, metrics.shipped, metrics.shipped_model
    score, sd, _ = metrics.score
    spread = "" if sd is None else f"± {100 * sd:.2f} over seeds, "
    explanation = f"{spread}{shipped}, {metrics.rows['test']:,} test rows"
    yield metric.replace("_", " "), f"{100 * score:.2f}", explanation
    teacher = metrics.models.get("teacher")
    if teacher is not None and shipped != "teacher" and teacher.metrics[metric].mean > 0:
        teacher_score = teacher.metrics[metric].mean
        _, lost = describe_lost_share(metrics.models, metric, teacher_score - score)
        explanation = f"which reaches {100 * teacher_score:.2f}{lost and f'; {lost}'}"
        yield "of the teacher", f"{100 * score / teacher_score:.1f} %", explanation
    for key, unit in SIZES.items():
        size, before = getattr(model, key), getattr(teacher, key, None)
        if size is not None:
            yield unit, f"{size:.2f}", f"teacher {before:.2f}" if before is not None and shipped != "teacher" else ""
