"""A table with notes below it, for the terminal and as Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from components.text.escaping import escape_markdown, escape_terminal
from pipeline.views.terminal import write
from pipeline.views.wrapping import column_widths, wrap

# Cells by row; a cell may have several lines.
Rows = Sequence[Sequence[str]]


def show_table(headings: Sequence[str], rows: Rows, notes: Iterable[str], console: Console, **layout: Any) -> None:
    """Prints a table and its notes; on a terminal the notes wrap at spaces.

    Args:
        headings: of the columns.
        rows: their cells.
        notes: lines below the table.
        console: where to draw.
        layout: see `show_grid`.
    """
    show_grid(headings, rows, console, **layout)
    for note in notes:
        for line in wrap(escape_terminal(note), console.width) if console.is_terminal else [note]:
            write(console, line)


def show_grid(
    headings: Sequence[str], rows: Rows, console: Console, *, title: str | None = None, justify: JustifyMethod = "right"
) -> None:
    """Prints a table; rows one below the other, a line per cell, where the columns do not fit side by side.

    Args:
        headings: of the columns.
        rows: their cells.
        console: where to draw.
        title: above the table.
        justify: the side on which the cells of all columns but the first stand.
    """
    headings, rows = escape_cells(headings), [escape_cells(row) for row in rows]
    columns = [[heading, *(row[at] for row in rows)] for at, heading in enumerate(headings)]
    # A border and two spaces per column, and the last border.
    widths = column_widths(columns, console.width - 3 * len(columns) - 1)
    if widths is None:
        _show_records(headings, rows, console, title)
        return
    table = Table(
        show_lines=any("\n" in cell for row in rows for cell in row),
        title=None if title is None else Text(escape_terminal(title)),
        title_justify="left",
    )
    for at, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        table.add_column(_cell(heading, width), justify=justify if at else "left", width=width, no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(text, width) for text, width in zip(row, widths, strict=True)))
    console.print(table)


def escape_cells(row: Sequence[str]) -> list[str]:
    """The cells of a row with control characters written out."""
    return [escape_terminal(cell) for cell in row]


def _show_records(headings: Sequence[str], rows: Rows, console: Console, title: str | None) -> None:
    margin = max(map(cell_len, headings)) + 2
    if title is not None:
        write(console, title)
    for row in rows:
        for heading, text in zip(headings, row, strict=True):
            first, *others = wrap(text, max(console.width - margin, 1))
            write(console, f"{heading}{' ' * (margin - cell_len(heading))}{first}".rstrip())
            for line in others:
                write(console, f"{' ' * margin}{line}")
        write(console, "")


def _cell(text: str, width: int) -> Text:
    return Text("\n".join(wrap(text, width)))


def render_table(title: str, headings: Sequence[str], rows: Rows, notes: Iterable[str]) -> str:
    """The same as Markdown, under a title."""
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows]
    table = "\n".join(f"| {' | '.join(map(escape_markdown, line))} |" for line in lines)
    return f"# {escape_markdown(title)}\n\n{table}\n\n" + "".join(f"- {escape_markdown(note)}\n" for note in notes)
