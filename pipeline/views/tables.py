"""A table with notes below it, for the terminal, as Markdown and as HTML.

In narrow columns lines end at spaces or behind a slash of a path, never inside a word that fits a line.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from components.text.escaping import escape_markdown, escape_terminal
from pipeline.views.terminal import write


class Table(NamedTuple):
    """A table; the page of a run renders it as HTML with the macro `table` of `report/templates/parts.html`."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""
    justify: JustifyMethod = "right"

    def show(self, console: Console) -> None:
        """Prints the table; its rows one below the other, a line per cell, where the columns do not fit side by side.

        On a terminal the notes wrap at spaces.
        """
        headings, *rows = [[escape_terminal(cell) for cell in row] for row in (self.headings, *self.rows)]
        columns = [[heading, *(row[at] for row in rows)] for at, heading in enumerate(headings)]
        # A border and two spaces per column, and the last border.
        widths = column_widths(columns, console.width - 3 * len(columns) - 1)
        if widths is None:
            margin = max(map(cell_len, headings)) + 2
            if self.title:
                write(console, self.title)
            for row in rows:
                for heading, text in zip(headings, row, strict=True):
                    first, *others = wrap(text, max(console.width - margin, 1))
                    write(console, f"{heading}{' ' * (margin - cell_len(heading))}{first}".rstrip())
                    for line in others:
                        write(console, f"{' ' * margin}{line}")
                write(console, "")
        else:
            grid = Grid(
                show_lines=any("\n" in cell for row in rows for cell in row),
                title=Text(escape_terminal(self.title)) if self.title else None,
                title_justify="left",
            )
            for at, (heading, width) in enumerate(zip(headings, widths, strict=True)):
                side = self.justify if at else "left"
                grid.add_column(_cell(heading, width), justify=side, width=width, no_wrap=True)
            for row in rows:
                grid.add_row(*(_cell(text, width) for text, width in zip(row, widths, strict=True)))
            console.print(grid)
        for note in self.notes:
            for line in wrap(escape_terminal(note), console.width) if console.is_terminal else [note]:
                write(console, line)

    def as_markdown(self) -> str:
        """The table under its title, with its notes as a list."""
        lines = [self.headings, ["---", *(["---:"] * (len(self.headings) - 1))], *self.rows]
        table = "\n".join(f"| {' | '.join(map(escape_markdown, line))} |" for line in lines)
        notes = "".join(f"- {escape_markdown(note)}\n" for note in self.notes)
        return f"# {escape_markdown(self.title)}\n\n{table}\n\n{notes}"


def _cell(text: str, width: int) -> Text:
    return Text("\n".join(wrap(text, width)))


# A word with the spaces before it; in a path each part is one, with its slash.
_WORD = re.compile(r"\s*[^\s/]*/*")


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, each at most `width` columns wide; only a word that is longer than a line is cut."""
    wrapped = []
    for line in text.split("\n"):
        parts = [""]
        for word in filter(None, _WORD.findall(line)):
            if cell_len(parts[-1] + word) <= width:
                parts[-1] += word
            else:
                parts += chop_cells(word.lstrip(), width)
        wrapped += parts if parts[0] or len(parts) == 1 else parts[1:]
    return wrapped


def column_widths(columns: Iterable[Sequence[str]], room: int) -> list[int] | None:
    """The widths of columns in which no word is cut; the widest give way where the room is short.

    None if the longest words alone are wider than the room.
    """
    cells = list(columns)
    widths = [max((cell_len(line) for cell in column for line in cell.split("\n")), default=0) for column in cells]
    least = [
        max((cell_len(word.strip()) for cell in column for word in _WORD.findall(cell)), default=0) for column in cells
    ]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((at for at in range(len(widths)) if widths[at] > least[at]), key=lambda at: widths[at])
        widths[widest] -= 1
    return widths


class Wrapped:
    """A text that wraps at the width of its place, as a branch of a tree."""

    def __init__(self, text: str) -> None:
        self._text = escape_terminal(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines."""
        yield Text("\n".join(wrap(self._text, options.max_width)), no_wrap=True)
