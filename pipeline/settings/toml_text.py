"""Values and tables of a job as TOML, which Python reads and does not write."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def format_value(value: Any) -> str:
    """A value in TOML; a table stands in one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(format_pair(*pair) for pair in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    # JSON's strings are TOML's but for this character, which TOML wants written out.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def format_pair(key: str, value: Any) -> str:
    """A key and its value, as a line of a table."""
    return f"{format_key(key)} = {format_value(value)}"


def format_key(key: str) -> str:
    """A key, between quotation marks where TOML wants them."""
    return key if _BARE_KEY.fullmatch(key) else format_value(key)
