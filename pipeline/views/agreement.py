"""The reasons of a job's models beside their teacher's: a table, its notes, and the kinds of attention heads."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console

from components.artifacts.measurements import ExplanationReport, HeadKinds, ModelAgreement
from pipeline.views.tables import show_table

HEADINGS = ("model", "same answer, %", "rank correlation", "attention distance")
HEAD_HEADINGS = ("model", "heads", "kinds")


def show_agreements(report: ExplanationReport, console: Console) -> None:
    """Prints the table of models, that of their heads, and notes."""
    show_table(HEADINGS, agreement_rows(report.agreements), agreement_notes(report), console)
    show_table(HEAD_HEADINGS, head_rows(report.heads), (), console, justify="left")


def agreement_rows(agreements: Sequence[ModelAgreement]) -> list[list[str]]:
    """A row for each model beside its teacher."""
    return [
        [
            agreement.model,
            f"{100 * agreement.same_answers:.1f}",
            "" if agreement.rank_correlation is None else f"{agreement.rank_correlation:.2f}",
            ", ".join(f"{distance:.2f}" for distance in agreement.attention_distances or ()),
        ]
        for agreement in agreements
    ]


def agreement_notes(report: ExplanationReport) -> Iterator[str]:
    """The notes below the table, one per line."""
    yield f"on {report.rows} validation rows, beside the teacher; words get their shares in the answer by occlusion"
    yield "rank correlation: the median over rows of Spearman's correlation of the words' shares; 1 for the same order"
    for agreement in report.agreements:
        if agreement.layers is not None:
            layers = ", ".join(map(str, agreement.layers))
            yield f"attention distance of {agreement.model}: from 0 to 1, beside layers {layers} of the teacher"


def head_rows(heads: Sequence[HeadKinds]) -> list[list[str]]:
    """A row for each model: its number of heads, and how many there are of each kind, the commonest first."""
    rows = []
    for model in heads:
        counts = Counter(kind for layer in model.kinds for kind in layer)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        rows.append([model.model, str(counts.total()), kinds])
    return rows
