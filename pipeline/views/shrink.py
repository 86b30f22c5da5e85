"""What a person sees of a search: a row a candidate that was trained, and what became of the best."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.views.terminal import format_seconds, write

Content = Mapping[str, Any]


def show_search(content: Content, console: Console) -> None:
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


def render_search(content: Content) -> str:
    """The same as Markdown, with the tables of a job that gives the winner's shape."""
    headings, rows = table_of(content)
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"- {note}" for note in notes_of(content))
    return f"# {content['name']}\n\n{table}\n\n{notes}\n{_settings_of(content)}"


def table_of(content: Content) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row a candidate, those that trained longest first."""
    (length,) = content["lengths"]
    headings = ["candidate", f"validation {content['metric'].replace('_', ' ')}", "kept, %", "trained, %", "MB"]
    headings.append(f"ms, {length} tokens")
    first, *others = content["rungs"].items()
    others.sort(key=lambda rung: (-rung[1]["trained"], -rung[1]["score"]["mean"]))
    rows = [
        [
            name + (" •" if record["on_front"] else ""),
            f"{100 * record['score']['mean']:.2f}",
            f"{100 * record['share']:.1f}",
            f"{100 * record['trained']:.0f}",
            f"{record['megabytes']:.2f}",
            f"{record['milliseconds'][str(length)]:.2f}",
        ]
        for name, record in (first, *others)
    ]
    return headings, rows


def notes_of(content: Content) -> Iterator[str]:
    """What it takes to read the table, and the times, a line each."""
    yield f"scores: x 100, on {content['rows']} validation rows, rounded; kept: share of the teacher's, which is float"
    yield "trained: share of the job's distillation; • no other candidate is smaller, faster and better"
    yield "l layers, h heads, f units, r rank of the table, v pieces; what is not named is the teacher's"
    expected = f"; the plan was {format_seconds(content['expected'])}" if "expected" in content else ""
    yield f"the search took {format_seconds(content['seconds'])}, without the teacher{expected}"


def _settings_of(content: Content) -> str:
    if "tables" not in content:
        return ""
    lines = [""]
    for table, values in content["tables"].items():
        lines += [f"    [{table}]", *(f"    {name} = {_toml(value)}" for name, value in values.items())]
    return "\nThe winner's tables in a job:\n" + "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)
