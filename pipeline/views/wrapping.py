"""Text in narrow columns: lines end at spaces or behind a slash of a path, never inside of a word that fits a line."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from components.text.escaping import escape_terminal

# A word with the spaces before it; in a path each part is one, with its slash.
_WORD = re.compile(r"\s*[^\s/]*/*")


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, each at most `width` columns wide; only a word that is longer than a line is cut."""
    return [part for line in text.split("\n") for part in _wrap_line(line, width)]


def _wrap_line(text: str, width: int) -> list[str]:
    lines = [""]
    for word in filter(None, _WORD.findall(text)):
        if cell_len(lines[-1] + word) <= width:
            lines[-1] += word
            continue
        first, *others = chop_cells(word.lstrip(), width)
        lines += [first, *others]
    return lines if lines[0] or len(lines) == 1 else lines[1:]


def column_widths(columns: Iterable[Sequence[str]], room: int) -> list[int] | None:
    """The widths of columns in which no word is cut; the widest give way where the room is short.

    Args:
        columns: the cells of each column.
        room: the width of all columns together.

    Returns:
        A width per column, or None if the longest words alone are wider than the room.
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


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


class Wrapped:
    """A text that wraps at the width of its place, as a branch of a tree.

    Args:
        text: shown as it is, without markup.
    """

    def __init__(self, text: str) -> None:
        self._text = escape_terminal(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines."""
        yield Text("\n".join(wrap(self._text, options.max_width)), no_wrap=True)
