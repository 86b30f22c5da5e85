"""The table of a search: a row for each candidate that was trained."""

from pipeline.search.results import StudentResult
from pipeline.settings.toml_text import format_value
from pipeline.views.tables import Table
from pipeline.views.terminal import format_seconds


def render_student(result: StudentResult) -> str:
    """Renders the table as Markdown, with the tables of a job that gives the winner's shape."""
    return student_table(result).as_markdown() + _settings_of(result)


def student_table(result: StudentResult) -> Table:
    """A row for each candidate, the longest trained first; the last note gives the duration."""
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
    expected = "" if result.expected is None else f"; the plan was {format_seconds(result.expected)}"
    notes = [
        f"scores: x 100, on {result.rows} validation rows, quantized; kept: share of the float teacher's score",
        "trained: share of the job's distillation; • no other candidate is smaller, faster and better",
        "l layers, h heads, f units, r rank of the token table, v vocabulary entries; other sizes are the teacher's",
        f"the search took {format_seconds(result.seconds)}, without the teacher{expected}",
    ]
    return Table(headings, rows, notes, result.name)


def _settings_of(result: StudentResult) -> str:
    if not result.tables:
        return ""
    lines = [""]
    for table, values in result.tables.items():
        lines += [f"    [{table}]", *(f"    {name} = {format_value(value)}" for name, value in values.items())]
    return "\nThe winner's tables in a job:\n" + "\n".join(lines) + "\n"
