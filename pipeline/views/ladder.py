"""The table of a ladder: a row for each rung, in the terminal and as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from components.artifacts.evaluation import SeedScores
from components.scoring.model_card import format_score
from pipeline.views.tables import render_table, show_table

Content = Mapping[str, Any]


def show_ladder(content: Content, console: Console) -> None:
    """Prints the table and the notes that explain it."""
    show_table(*build_table(content), build_notes(content), console)


def render_ladder(content: Content) -> str:
    """Renders the table and its notes as Markdown."""
    return render_table(content["name"], *build_table(content), build_notes(content))


def build_table(content: Content) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a row for each rung."""
    timed = [f"ms, {length} tokens" for length in content["lengths"]]
    headings = ["rung", content["metric"].replace("_", " "), "kept, %", "parameters", "MB", *timed]
    rows = [
        [
            name + (" •" if record["on_front"] else ""),
            format_score(SeedScores(**record["score"])),
            f"{100 * record['share']:.1f}",
            f"{record['parameters'] / 1e6:.2f} M",
            f"{record['megabytes']:.2f}",
            *(f"{record['milliseconds'][str(length)]:.2f}" for length in content["lengths"]),
        ]
        for name, record in content["rungs"].items()
    ]
    return headings, rows


def build_notes(content: Content) -> Iterator[str]:
    """Yields the notes below the table, one per line."""
    over = f"; mean ± standard deviation over {content['seeds']} seeds" if content["seeds"] > 1 else ""
    yield f"scores: x 100, of the exported file, on {content['rows']} test rows{over}"
    yield "kept: share of the teacher's score, of the same seed"
    yield "ms: the median for one full row on one thread; • no other rung is both smaller and better"
