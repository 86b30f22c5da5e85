"""Values as JSON that people read: numbers stand on one line."""

import json
from collections.abc import Mapping
from typing import Any


def write_json(value: Any, indent: str = "") -> str:
    """Plain values as JSON; arrays of numbers, however deep, stand on one line."""
    inner = indent + " "
    if isinstance(value, Mapping) and value:
        lines = [
            f"{inner}{json.dumps(name, ensure_ascii=False)}: {write_json(item, inner)}" for name, item in value.items()
        ]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and not _holds_numbers(value):
        return "[\n" + ",\n".join(inner + write_json(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _holds_numbers(value: Any) -> bool:
    """Whether a value is a number, or a list of such values."""
    return all(map(_holds_numbers, value)) if isinstance(value, list) else isinstance(value, int | float)
