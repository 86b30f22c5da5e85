"""Reads the reasons of a run's models for its page."""

from collections.abc import Sequence
from typing import NamedTuple

from components.artifacts.measurements import Explanation, HeadReport
from pipeline.report.record import RunRecord
from pipeline.views.agreement import agreement_tables
from pipeline.views.tables import Table


class DifferentRow(NamedTuple):
    """A row of which a model and its teacher rank the words differently.

    Attributes:
        words: each word with its share of the largest share, -1 to 1, in the teacher and in the model.
    """

    model: str
    target: str
    words: list[tuple[str, float, float]]


class ExplanationSection(NamedTuple):
    """The section of the page about one artifact with explanations."""

    step: str
    tables: list[Table]
    heads: Sequence[HeadReport]
    different: list[DifferentRow]


def read_explanation(record: RunRecord) -> list[ExplanationSection]:
    """The explanations of a run; those that cannot be read are left out."""
    sections = []
    for step, folder in record.outputs(Explanation.__name__):
        try:
            report = Explanation(str(folder)).read()
        except (OSError, ValueError, KeyError, TypeError):
            continue
        different = []
        for agreement in report.agreements:
            for row in agreement.different:
                # Both columns of shares, each as a part of its own largest one.
                columns = [row["teacher"], row["model"]]
                scaled = [[share / (max(map(abs, column), default=0) or 1) for share in column] for column in columns]
                words = list(zip(row["words"], *scaled, strict=True))
                different.append(DifferentRow(agreement.model, row["target"], words))
        sections.append(ExplanationSection(step.name, agreement_tables(report), report.heads, different))
    return sections
