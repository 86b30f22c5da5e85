"""The tables of an evaluation: a row for every model, and a report of the classes."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console

from components.artifacts.evaluation import SIZES, Metrics
from components.scoring.model_card import calibration_lines, format_row, remarks_of, unit_of
from keras_bert.core.folders import MEDIAPIPE_FILE
from keras_bert.export.targets.mediapipe import OTHER_IDS, describe_other_ids
from pipeline.views.tables import Table
from pipeline.views.terminal import write, write_warnings

_MOST_CLASSES = 30

# Class -> the scores of a model on it.
Report = Mapping[str, Mapping[str, float]]


def show_models(metrics: Metrics, console: Console, title: str = "") -> None:
    """Prints all models of a run, and the scores of the shipped one for each class."""
    models_table(metrics)._replace(title=title).show(console)
    write_warnings(console, metrics.warnings)
    calibration = metrics.calibration
    if calibration is not None:
        temperature = calibration["temperature"]
        scaling = (
            f"no temperature, as {calibration['no_temperature']}"
            if temperature is None
            else f"temperature {temperature:.4f}"
        )
        first, *others = calibration_lines(calibration)
        for line in (f"{scaling}: {first}", *others):
            write(console, line)
    if metrics.report:
        few, shown = worst_classes(metrics.report)
        report = [
            [name, *(str(value) if key == "support" else f"{100 * value:.2f}" for key, value in row.items())]
            for name, row in shown.items()
        ]
        Table(["class", *next(iter(shown.values()))], report, title=f"on test rows{few}").show(console)


def models_table(metrics: Metrics) -> Table:
    """A row for each model."""
    names = metrics.metric_names
    rows = [[name, *format_row(model, names)] for name, model in metrics.models.items()]
    seeds = len(metrics.score.seeds)
    over = f"; mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    unit = unit_of(names)
    basis = f"on {metrics.rows['test']} test rows, {unit}{over}; ms: the median for one row on one thread"
    headings = ["model", *(name.replace("_", " ") for name in names), *SIZES.values()]
    return Table(headings, rows, [basis, *remarks_of(metrics)])


def export_warnings(exports: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the exports of a run warned of, each once; seeds have the same texts and the same tokenizer."""
    records = (export.get(MEDIAPIPE_FILE, {}) for export in exports)
    shares = dict.fromkeys(record[OTHER_IDS] for record in records if record.get(OTHER_IDS))
    return [describe_other_ids(share) for share in shares]


def worst_classes(report: Report) -> tuple[str, Report]:
    """Returns the classes in their order, of many classes the worst, and a note about the choice.

    The F1 of a class without test rows is always 0: such classes are chosen last.
    """
    worst = sorted(report, key=lambda name: (not report[name]["support"], report[name]["f1"]))[:_MOST_CLASSES]
    if len(worst) == len(report):
        return "", report
    remark = f", the worst {len(worst)} of {len(report)} classes"
    return remark, {name: row for name, row in report.items() if name in set(worst)}
