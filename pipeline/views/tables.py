"""A table with notes below it, for the terminal and as Markdown."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.views.terminal import write

# Of each cell; it may have several lines.
Rows = Sequence[Sequence[str]]


def show_table(headings: Sequence[str], rows: Rows, notes: Iterable[str], console: Console) -> None:
    """Prints it, the first column on the left and numbers on the right."""
    table = Table(show_lines=any("\n" in cell for row in rows for cell in row))
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for note in notes:
        write(console, note)


def render_table(title: str, headings: Sequence[str], rows: Rows, notes: Iterable[str]) -> str:
    """The same as Markdown, under a title."""
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows]
    table = "\n".join(f"| {' | '.join(map(_escape, line))} |" for line in lines)
    return f"# {title}\n\n{table}\n\n" + "".join(f"- {_escape(note)}\n" for note in notes)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", "<br>")
