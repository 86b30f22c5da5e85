"""Writes CSV that all readers parse into the same cells, and cells that no spreadsheet evaluates as formulas."""

import re
from collections.abc import Iterable

# Tables of likely wrong labels have escaped cells, and are read again after corrections; this column identifies them.
ESCAPED_COLUMN = "likely_wrong"

_QUOTED = re.compile('[,"\r\n\ufeff]')
# The starts of cells that a spreadsheet evaluates (OWASP, "CSV Injection"), in cells of more than one character.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20].", re.DOTALL)
_NUMBER = re.compile(r"[+-][\d.,]+(e[+-]?\d+)?%?", re.IGNORECASE)


def csv_line(cells: Iterable[str | float | None]) -> str:
    r"""A line of CSV with its end: a cell with a comma, a quote, a line feed or a carriage return is quoted (RFC 4180).

    The `csv` module of Python 3.11 quotes a carriage return only where its lines end with one. None is an empty cell.
    """
    texts = ["" if cell is None else str(cell) for cell in cells]
    texts = ['"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text for text in texts]
    line = ",".join(texts)
    # Readers skip blank lines.
    return f"{line}\n" if line.strip() else f'"{line}"\n'


def escape_formula(text: str) -> str:
    """A text with an apostrophe in front if a spreadsheet would evaluate it as a formula; else the text itself.

    Numbers, which may be negative, stay. Texts that already begin with such an apostrophe get a second one, so that
    `unescape_formula` restores all texts.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape_formula(text: str) -> str:
    """The text of which `escape_formula` made this one."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
