"""What a person sees of a ladder: a row a rung, in the terminal and as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.scoring.model_card import format_score
from pipeline.views.terminal import write

Content = Mapping[str, Any]


def show_ladder(content: Content, console: Console) -> None:
    """Prints the table and what it takes to read it."""
    headings, rows = table_of(content)
    table = Table()
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for note in notes_of(content):
        write(console, note)


def render_ladder(content: Content) -> str:
    """The same as Markdown."""
    headings, rows = table_of(content)
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"- {note}" for note in notes_of(content))
    return f"# {content['name']}\n\n{table}\n\n{notes}\n"


def table_of(content: Content) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row a rung."""
    timed = [f"ms, {length} tokens" for length in content["lengths"]]
    headings = ["rung", content["metric"].replace("_", " "), "kept, %", "parameters", "MB", *timed]
    rows = [
        [
            name + (" •" if record["on_front"] else ""),
            format_score(record["score"]),
            f"{100 * record['share']:.1f}",
            f"{record['parameters'] / 1e6:.2f} M",
            f"{record['megabytes']:.2f}",
            *(f"{record['milliseconds'][str(length)]:.2f}" for length in content["lengths"]),
        ]
        for name, record in content["rungs"].items()
    ]
    return headings, rows


def notes_of(content: Content) -> Iterator[str]:
    """What it takes to read the table, a line each."""
    over = f"; mean ± standard deviation over {content['seeds']} seeds" if content["seeds"] > 1 else ""
    yield f"scores: x 100, of the exported file, on {content['rows']} test rows{over}"
    yield "kept: share of the teacher's score, of the same seed"
    yield "ms: the median for one full row on one thread; • no other rung is both smaller and better"
