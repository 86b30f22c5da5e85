"""The table of a search: a row for each candidate that was trained."""

from collections.abc import Iterator

from rich.console import Console

from pipeline.search.results import StudentResult
from pipeline.settings.toml_text import format_value
from pipeline.views.tables import render_table, show_table
from pipeline.views.terminal import format_seconds


def show_student(result: StudentResult, console: Console) -> None:
    """Prints the table and the notes that explain it."""
    show_table(*build_table(result), build_notes(result), console)


def render_student(result: StudentResult) -> str:
    """Renders the table as Markdown, with the tables of a job that gives the winner's shape."""
    return render_table(result.name, *build_table(result), build_notes(result)) + _settings_of(result)


def build_table(result: StudentResult) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a row for each candidate, the longest trained first."""
    (length,) = result.lengths
    headings = ["candidate", f"validation {result.metric.replace('_', ' ')}", "kept, %", "trained, %", "MB"]
    headings.append(f"ms, {length} tokens")
    first, *others = result.rungs.items()
    others.sort(key=lambda rung: (-rung[1].trained, -rung[1].score.mean))
    rows = [
        [
            name + (" •" if record.on_front else ""),
            f"{100 * record.score.mean:.2f}",
            f"{100 * record.share:.1f}",
            f"{100 * record.trained:.0f}",
            f"{record.megabytes:.2f}",
            f"{record.milliseconds[str(length)]:.2f}",
        ]
        for name, record in (first, *others)
    ]
    return headings, rows


def build_notes(result: StudentResult) -> Iterator[str]:
    """Yields the notes below the table, one per line; the last gives the duration."""
    yield f"scores: x 100, on {result.rows} validation rows, quantized; kept: share of the float teacher's score"
    yield "trained: share of the job's distillation; • no other candidate is smaller, faster and better"
    yield "l layers, h heads, f units, r rank of the token table, v vocabulary entries; other sizes are the teacher's"
    expected = "" if result.expected is None else f"; the plan was {format_seconds(result.expected)}"
    yield f"the search took {format_seconds(result.seconds)}, without the teacher{expected}"


def _settings_of(result: StudentResult) -> str:
    if not result.tables:
        return ""
    lines = [""]
    for table, values in result.tables.items():
        lines += [f"    [{table}]", *(f"    {name} = {format_value(value)}" for name, value in values.items())]
    return "\nThe winner's tables in a job:\n" + "\n".join(lines) + "\n"
