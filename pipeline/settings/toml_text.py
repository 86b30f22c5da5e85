"""Values and tables of a job as TOML, which Python reads and does not write."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def format_value(value: Any) -> str:
    """A value in TOML; a table stands in one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_format_key(key)} = {format_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    # JSON's strings are TOML's but for this character, which TOML wants written out.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def format_tables(tables: Mapping[str, Any]) -> str:
    """The text of a job file: values first, then a section for each table."""
    lines = [_format_pair(key, value) for key, value in tables.items() if not isinstance(value, Mapping)]
    for name, table in tables.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_format_key(name)}]", *(_format_pair(*pair) for pair in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _format_pair(key: str, value: Any) -> str:
    return f"{_format_key(key)} = {format_value(value)}"


def _format_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else format_value(key)
