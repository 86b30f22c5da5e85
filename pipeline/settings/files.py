"""Reading settings: a TOML file and overrides into a strict model, with errors that name key, rule and value."""

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import pydantic

from components.dsl.errors import InputError, nearest
from components.files.text_files import is_remote

M = TypeVar("M", bound=pydantic.BaseModel)

# Values of a settings file that are paths, relative to the folder of the file.
_SPLITS = (("examples", "train"), ("examples", "validation"), ("examples", "test"))
PATHS = (("checkpoint",), ("corpus", "path"), *_SPLITS, ("push", "folder"))

# The user's own labelled data is told apart by its task. Pydantic puts these marks into the place of an error, where a
# user has no use for them.
TASKS = {task: f"<{task}>" for task in ("classification", "regression", "token_classification", "question_answering")}


def choose_task(value: Any) -> str:
    """The mark of the task that a table of labelled data names; classification if it names none."""
    task = value.get("task", "classification") if isinstance(value, dict) else "classification"
    return TASKS.get(task, task) if isinstance(task, str) else repr(task)


def load(model: type[M], path: Path | None, overrides: Iterable[str] = ()) -> M:
    """Reads a TOML file and `key=value` overrides; without a file, the defaults.

    Args:
        model: what a user may set.
        path: the file.
        overrides: the newest word on single keys, such as `training.steps=7`.

    Raises:
        InputError: the file is missing or not TOML, a key is unknown or a value breaks a rule. The message
            names the key, the rule and the value, and for an unknown key the nearest known one.
    """
    raw = _read_toml(path) if path else {}
    for override in overrides:
        _set(raw, override)
    try:
        return model.model_validate_json(json.dumps(_complete(model, raw), default=str))
    except pydantic.ValidationError as error:
        raise InputError("; ".join(_explain(model, problem) for problem in error.errors())) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the settings file {path} does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}") from None
    for *sections, key in PATHS:
        table: Any = raw
        for section in sections:
            table = table.get(section)
        if isinstance(table, dict) and isinstance(table.get(key), str) and table[key]:
            table[key] = _resolve(path.parent, table[key])
    return raw


def _resolve(folder: Path, value: str) -> str:
    """A path as the settings file means it; one with a scheme, as `gs://bucket/texts`, stays as it is."""
    return value if is_remote(value) else str(folder / Path(value).expanduser())


def _complete(model: type[M], raw: dict[str, Any]) -> dict[str, Any]:
    """The tables of the user on top of the default ones: who sets one key of a table keeps the others."""
    tables = {
        name: dataclasses.asdict(field.default)
        for name, field in model.model_fields.items()
        # Of a union the user's own kind may have other keys than the default.
        if name in raw and dataclasses.is_dataclass(field.annotation) and not field.is_required()
    }
    return raw | {name: _overlay(table, raw[name]) for name, table in tables.items()}


def _overlay(default: Any, given: Any) -> Any:
    if not (isinstance(default, dict) and isinstance(given, dict)):
        return given
    merged = default | {key: _overlay(default.get(key), value) for key, value in given.items()}
    if "epochs" in given and given.get("steps") is None:
        merged["steps"] = None  # the user counts in epochs; steps would overrule them
    return merged


def _set(raw: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise InputError(f"--set must be key=value, got {override!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, last = key.strip().split(".")
    for section in sections:
        raw = raw.setdefault(section, {})
        if not isinstance(raw, dict):
            raise InputError(f"--set {key}: {section} is a value, not a table")
    raw[last] = value
    if last == "epochs":
        raw.pop("steps", None)  # the newest word counts: steps would overrule epochs


def _explain(model: type[M], problem: Mapping[str, Any]) -> str:
    """One pydantic error as `section.key must ..., got ...`."""
    place = [str(part) for part in problem["loc"] if not str(part).startswith("<")]
    key = ".".join(place)
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no setting {key!r}{nearest(place[-1], _known_keys(model, place[:-1]))}"
    if problem["type"] == "value_error":
        # The dataclass says `Training.steps must ...`; the user knows it as `fine_tuning.steps`.
        owner, _, rest = str(problem["ctx"]["error"]).partition(".")
        return f"{key}.{rest}" if rest and " " not in owner else f"{key}: {problem['ctx']['error']}"
    if problem["type"] == "union_tag_invalid":
        return f"{key}.task must be one of {list(TASKS)}, got {problem['ctx']['tag']!r}"
    if problem["type"] == "missing":
        return f"{key} must be set"
    rule = problem["msg"].removeprefix("Input should ").removeprefix("String should ").removeprefix("Value error, ")
    return f"{key} must {rule}, got {problem['input']!r}"


def _known_keys(model: type[M], sections: list[str]) -> list[str]:
    """The keys that a table of the settings may have."""
    known: dict[str, Any] = {name: field.annotation for name, field in model.model_fields.items()}
    for section in sections:
        kinds = [kind for kind in _kinds(known[section]) if dataclasses.is_dataclass(kind)]
        known = {field.name: field.type for kind in kinds for field in dataclasses.fields(kind)}
    return list(known)


def _kinds(annotation: Any) -> list[Any]:
    """A type, or all types of a union."""
    inner = [argument for argument in get_args(annotation) if not isinstance(argument, pydantic.Tag)]
    return [annotation] if not inner else [kind for argument in inner for kind in _kinds(argument)]
