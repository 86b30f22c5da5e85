"""The text of a job file: comments that say what was seen and guessed, and settings with their reasons."""

import textwrap
from collections.abc import Sequence

from components.text.escaping import escape_field
from pipeline.proposal import SettingsTable
from pipeline.settings.toml_text import format_value

_WIDTH = 118


def write_toml(remarks: Sequence[str], tables: Sequence[SettingsTable]) -> str:
    """A job file.

    Args:
        remarks: comments at its start, a line or more each; control characters are written out.
        tables: the settings.
    """
    lines = [line for remark in remarks for line in _comment(remark)]
    for table in tables:
        lines += ["", *([f"[{table.name}]"] if table.name else [])]
        for setting in table.settings:
            line = f"{setting.key} = {format_value(setting.value)}"
            reason = escape_field(setting.reason)
            lines.append(f"{line}  # {reason}" if reason else line)
    return "\n".join(lines) + "\n"


def _comment(remark: str) -> list[str]:
    text = escape_field(remark)
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
