"""Reads the likely wrong labels of a run for its page."""

from typing import NamedTuple

from components.artifacts.label_errors import LabelErrorReport, LabelErrors
from pipeline.report.record import RunRecord


class LabelErrorSection(NamedTuple):
    """The section of the page about one search for wrong labels.

    Attributes:
        step: the step that made it.
        report: the rows.
        table: the file with all rows, relative to the root.
    """

    step: str
    report: LabelErrorReport
    table: str


def read_label_errors(record: RunRecord) -> list[LabelErrorSection]:
    """The searches of a run; those that cannot be read are left out."""
    sections = []
    for step, folder in record.outputs(LabelErrors.__name__):
        label_errors = LabelErrors(folder)
        try:
            report = label_errors.read()
            table = label_errors.file(label_errors.table).relative_to(record.root)
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            continue
        sections.append(LabelErrorSection(step.name, report, table.as_posix()))
    return sections
