"""The page of all settings, generated from the JSON schema of the job file and from the rules that refuse values."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from pipeline.job.files import make_settings
from pipeline.job.json_schema import job_schema

_HEAD = """\
# Settings

A job is a TOML file. All of its settings stand below, as `keras-bert-edge schema` writes them for editors. Almost all
have a default, and a table that is present switches its steps on. An unknown key or a value out of range stops a run
before it starts. Paths are relative to the file, those of `--set TABLE.KEY=VALUE` to the working directory.
"""
# Values outside of every range: the error that refuses them names the rule.
_PROBES: Mapping[str, tuple[Any, ...]] = {
    "integer": (-(10**9), 10**9),
    "number": (-1e9, 1e9),
    "string": ("",),
    "array": ([],),
}
# Values for settings that must be set, twice: rules that depend on the values of other settings differ.
_SAMPLES: tuple[Mapping[str, Any], ...] = (
    {"integer": 8, "number": 1.0, "string": "file"},
    {"integer": 16, "number": 2.0, "string": "folder"},
)
# Words of errors -> words of the column `range`.
_SHORTER = {
    "^be ": "",
    "^not be ": "not ",
    "^greater than or equal to ": "at least ",
    "^less than or equal to ": "at most ",
    r"^divide (\w+)=.*": r"divides `\1`",
    "^match pattern '(.*)'$": r"matches `\1`",
}
_COLUMNS = ["| setting | type | default | range | effect |", "| --- | --- | --- | --- | --- |"]

Schema = Mapping[str, Any]

# The end of the name of a table of which a job may have several.
_ARRAY = "[]"
# Stands for a name that the user gives to a table, such as that of a task.
_NAME = ("NAME",)


@dataclasses.dataclass(frozen=True)
class _Table:
    """A table of the job file, of one kind where there are several.

    Attributes:
        path: its keys from the top of the file; empty for the top itself.
        schema: the schema of the table.
        label: of several kinds of a table the settings that choose this one.
        kind: these settings with values.
    """

    path: tuple[str, ...]
    schema: Schema
    label: str = ""
    kind: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def settings_page() -> str:
    """Markdown: a section for each table with the type, default, range and effect of its settings."""
    schema = job_schema()
    lines = [_HEAD]
    for table in (_Table((), schema), *_find_tables((), schema, schema)):
        lines += _section(table, schema)
    return "\n".join(lines)


def _section(table: _Table, schema: Schema) -> list[str]:
    title = f"[{'.'.join(table.path)}]" if table.path else "Outside of tables"
    title = (f"[{title}]" if title.endswith(f"{_ARRAY}]") else title).replace(_ARRAY, "")
    lines = [f"## {title}{table.label}", ""]
    if table.path:
        lines += [_sentence(table.schema.get("description", "")), ""]
    required = [_required_settings(table, samples) for samples in _SAMPLES]
    rows = [
        _row(name, field, is_required=name in required[0], rules=_rules(table, required, name, field))
        for name, field in table.schema["properties"].items()
        if not _kinds_of(field, schema)
    ]
    # The style sheet shows these tables as lists on a phone.
    return [*lines, '<div class="settings" markdown>', "", *_COLUMNS, *rows, "", "</div>", ""]


def _row(name: str, field: Schema, *, is_required: bool, rules: str) -> str:
    default = f"`{_toml(field['default'])}`" if "default" in field else "required" if is_required else "not set"
    cells = (f"`{name}`", _type(field), default, rules, _sentence(field.get("description", "")))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _find_tables(path: tuple[str, ...], table: Schema, schema: Schema) -> Iterator[_Table]:
    """All tables below one, in the order of the file."""
    of_a_job = {id(kind) for field in schema["properties"].values() for kind in _kinds_of(field, schema)}
    for name, field in table["properties"].items():
        kinds, keys = (
            _kinds_of(field, schema),
            (*path, f"{name}{_ARRAY * ('items' in field)}", *_NAME[: _is_named(field)]),
        )
        for kind in kinds:
            if _NAME[0] in path and id(kind) in of_a_job:  # the examples of a task have the tables of a job's
                continue
            label, values = _choices(kind) if len(kinds) > 1 else ("", {})
            yield _Table(keys, kind, label, values)
            yield from _find_tables(keys, kind, schema)


def _is_named(field: Schema) -> bool:
    """Whether a field has tables with names that the user gives."""
    return isinstance(field.get("additionalProperties"), Mapping)


def _kinds_of(field: Schema, schema: Schema) -> list[Schema]:
    """The tables that a field may be; none where it is a value."""
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if "anyOf" in field:
        return [kind for choice in field["anyOf"] for kind in _kinds_of(choice, schema)]
    if "items" in field:
        return _kinds_of(field["items"], schema)
    if _is_named(field):
        return _kinds_of(field["additionalProperties"], schema)
    return [field] if "properties" in field else []


def _choices(kind: Schema) -> tuple[str, Mapping[str, Any]]:
    """What chooses a kind of table, as part of its heading and as settings: `kind`, `task`, or the first setting."""
    for name in ("kind", "task"):
        if field := kind["properties"].get(name):
            values = field.get("enum") or [field["const"]]
            return f" with {name} = {', '.join(json.dumps(value) for value in values)}", {name: values[0]}
    name, field = next(iter(kind["properties"].items()))
    return f" with {name}", {name: _SAMPLES[0][field["type"]]}


def _required_settings(table: _Table, samples: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that choose the kind of a table, and those that it must have, with values that are allowed."""
    fields, required = table.schema["properties"], dict(table.kind)
    while missing := [key for key in fields if key not in required and _rule(table, required, key) == "be set"]:
        required |= {key: samples.get(fields[key].get("type", ""), {}) for key in missing}
    return required


def _rules(table: _Table, required: Sequence[Schema], name: str, field: Schema) -> str:
    """The rules that refuse values of a setting, whatever the values of other settings are."""
    rules: list[str] = []
    for value in _PROBES.get(field.get("type", ""), ()) if not {"enum", "const"} & field.keys() else ():
        broken = {_rule(table, {**settings, name: value}, name) for settings in required}
        rules += broken if len(broken) == 1 else ()
    return "; ".join(dict.fromkeys(_range(rule) for rule in rules if rule and not rule.startswith("be left out")))


def _range(rule: str) -> str:
    """A rule of an error as the cell of a table."""
    for words, shorter in _SHORTER.items():
        rule = re.sub(words, shorter, rule)
    return rule


def _rule(table: _Table, values: Schema, name: str) -> str:
    """What a setting must be, by the error about a table with these values; empty where there is none about it."""
    content: Any = values
    for key in reversed(table.path):
        content = {key.removesuffix(_ARRAY): [content] if key.endswith(_ARRAY) else content}
    try:
        make_settings(content)
    except InputError as error:
        place = re.escape(".".join((*table.path, name)).replace(_ARRAY, ".0"))
        match = re.search(rf"(?:^|; ){place} must (.*?)(?:, got .*)?(?:; |$)", str(error))
        return match[1] if match else ""
    return ""


def _type(field: Schema) -> str:
    """The type as TOML has it; of few values these."""
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        return " or ".join(_type(choice) for choice in field["anyOf"])
    if field["type"] == "array":
        return f"array of {_type(field['items'])}"
    return "table" if field["type"] == "object" else str(field["type"])


def _toml(value: Any) -> str:
    return "{}" if value == {} else json.dumps(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
