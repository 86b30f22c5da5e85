"""The table `[probes]` of a job, and the section of the page about its explanation."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from components.dsl.errors import prefixed_errors
from components.sources.tagged_words import SentenceSource
from pipeline.capability import Capability, Draw
from pipeline.settings.schema import Settings
from pipeline.views.tables import Table
from plugins.explain.artifacts import Explanation
from plugins.explain.head_figure import draw_heads
from plugins.explain.tables import agreement_tables


class DifferentRow(NamedTuple):
    """A row whose words a model and its teacher rank differently: words with both shares of the largest, -1 to 1."""

    model: str
    target: str
    words: list[tuple[str, float, float]]


class ExplanationSection(NamedTuple):
    """The section of the page about one artifact with explanations; `figures`: the heads of each model as SVG."""

    tables: list[Table]
    figures: list[Any]
    different: list[DifferentRow]


class ProbesCapability(Capability[SentenceSource]):
    """Sentences of probes, which the command `explain` reads; `run` makes no explanation."""

    name = "probes"
    table = SentenceSource
    purpose = (
        "tagged sentences with which `explain` probes the layers of the teacher and the student; `.conllu` files also "
        "have dependency trees. By default, `explain` uses the examples if their words are tagged."
    )
    outputs = (Explanation,)
    title = "Reasons"
    paths = ("train", "validation", "test")

    def check_rows(self, table: SentenceSource, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        with prefixed_errors("probes: "):
            table.check()

    def read(self, output: Explanation, draw: Draw) -> ExplanationSection:
        """The tables, the figure of the heads, and the rows whose words are ranked most differently."""
        report = output.read()
        different = []
        for agreement in report.agreements:
            for row in agreement.different:
                # Both columns of shares, each as a part of its own largest one.
                columns = [row["teacher"], row["model"]]
                scaled = [[share / (max(map(abs, column), default=0) or 1) for share in column] for column in columns]
                words = list(zip(row["words"], *scaled, strict=True))
                different.append(DifferentRow(agreement.model, row["target"], words))
        return ExplanationSection(agreement_tables(report), draw(draw_heads, report.heads), different)
