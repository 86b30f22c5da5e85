"""Reading settings: a TOML file and overrides into a strict model, with errors that name key, rule and value."""

import copy
import dataclasses
import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pydantic

from components.beam.engine import BeamOptions
from components.dsl.errors import InputError, nearest
from components.files.paths import join_pattern
from components.files.text_files import is_remote
from components.objects.hub import is_hub_address, pin_address
from components.sources.checkpoint import PACKAGE
from keras_bert.core.validation import field_error, field_place
from keras_bert.options.students import STUDENTS
from pipeline.capabilities import CAPABILITIES, JobSettings
from pipeline.job.checks import check_tables
from pipeline.settings.schema import TASKS, Settings

# The job that needs no settings file.
DEFAULT_JOB = Path(__file__).with_name("default_job.toml")

# Values of a settings file that are paths, relative to the folder of the file.
_SPLITS = (("examples", "train"), ("examples", "validation"), ("examples", "test"))
_TEXTS = (("corpus", "path"), ("general_distillation", "path"), ("unlabelled", "path"), ("page", "path"))
_OF_CAPABILITIES = tuple(
    (section, key)
    for capability in CAPABILITIES
    for section, _, key in (f"{capability.name}.{path}".rpartition(".") for path in capability.paths)
)
_PATTERNS = (*_TEXTS, *_SPLITS, *_OF_CAPABILITIES)
_CHECKPOINTS = (("checkpoint", "path"), ("reranker", "path"))
PATHS = (*_CHECKPOINTS, *_PATTERNS, ("push", "folder"))

# Tables whose keys choose one of several kinds. A file that extends another one replaces such a table as a whole.
_REPLACED_TABLES = ("corpus", "examples", "student")
# Tables whose keys are names that the user gives. Each name has tables that are merged as those of a job.
_NAMED_TABLES = {section.partition(".")[0] for section, _ in _OF_CAPABILITIES if ".*" in section}

Tables = dict[str, Any]

# A key at least this similar to a key of its table counts as misspelt; otherwise other tables are searched for it.
_SIMILAR = 0.8
# Far above the depth of any setting; Python's own limit ends in a traceback.
_DEEPEST = 20
_SHOWN = 80


def load_settings(path: Path | None, overrides: Iterable[str] = ()) -> Settings:
    """Reads a TOML file and `key=value` overrides; without a file, the default job.

    Args:
        path: the file.
        overrides: single keys, such as `pretraining.steps=7`, that take precedence over the file. Relative paths in
            overrides start from the working directory, those in a file from the file's folder.

    Raises:
        InputError: the file is missing or not TOML, a key is unknown, a value breaks a rule, tables do not go together,
            or the hub has no such repository. The message names the key, the rule and the value, and for an unknown key
            the nearest known one.
    """
    return make_settings(read_tables(path or DEFAULT_JOB), overrides)


def load_beam(path: Path | None, overrides: Sequence[str] = ()) -> BeamOptions:
    """The table `[beam]` of a job, with overrides such as `beam.workers=2`; the job need not be complete."""
    for override in overrides:
        if not override.strip().startswith("beam."):
            raise InputError(f"--set must be a key of [beam] here, as beam.workers=2, got {override}")
    beam = {} if path is None else {key: value for key, value in read_tables(path).items() if key == "beam"}
    return make_settings(merge_tables(read_tables(DEFAULT_JOB), beam), overrides).beam


def make_settings(tables: Mapping[str, Any], overrides: Iterable[str] = ()) -> Settings:
    """Makes settings of the tables that `read_tables` returned; raises as `load_settings` does.

    Addresses on the hub are pinned to their commits, so that all steps on all machines read the same files.
    """
    raw = pin_addresses(override_tables(tables, overrides))
    student, distillation = raw.get("student"), raw.get("distillation", {})
    kind = STUDENTS.get(str(student.get("kind"))) if isinstance(student, dict) else None
    if kind is not None and isinstance(distillation, dict):
        raw["distillation"] = {**kind.training, **distillation}
    try:
        settings = JobSettings.model_validate_json(json.dumps(raw, default=str))
    except pydantic.ValidationError as error:
        # If items of a list have errors, Pydantic also reports the list as too short, although it is not.
        problems = [
            problem
            for problem in error.errors()
            if problem["type"] != "too_short" or len(problem["input"]) < problem["ctx"]["min_length"]
        ]
        raise InputError("; ".join(dict.fromkeys(_explain(problem, raw) for problem in problems))) from None
    check_tables(settings)
    return settings


def pin_addresses(tables: Tables, *, refresh: bool = False) -> Tables:
    """Puts commits into the addresses on the hub, in place, see `pin_address`; returns the tables."""
    for section, key in (*_CHECKPOINTS, *_PATTERNS):
        for table in _find_tables(tables, section):
            if isinstance(path := table.get(key), str) and is_hub_address(path):
                table[key] = pin_address(path, refresh=refresh)
    return tables


def _find_tables(tables: Tables, section: str) -> list[Tables]:
    """The tables that a section names, such as `checkpoint`; in `tasks.*.examples` the star stands for any key."""
    inner = [tables]
    for key in section.split("."):
        inner = [item for table in inner for name, item in table.items() if key in (name, "*")]
        inner = [table for table in inner if isinstance(table, dict)]
    return inner


def override_tables(tables: Mapping[str, Any], overrides: Iterable[str]) -> Tables:
    """A copy of tables with `key=value` overrides; relative paths start from the working directory."""
    raw = copy.deepcopy(dict(tables))
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals:
            raise InputError(f"--set must be key=value, got {override!r}")
        try:
            (value,) = tomllib.loads(f"value = {text}").values()
        # Not one value of TOML: a text without quotes, which may have several lines.
        except (ValueError, RecursionError):
            value = text
        table, (*sections, last) = raw, key.strip().split(".")
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise InputError(f"--set {key}: {section} is a value, not a table")
        table[last] = value
        if last == "epochs":
            table.pop("steps", None)  # steps of the file would take precedence over these epochs
    _check_values(raw)
    # Paths of files are absolute by now. A relative path would mean another file in another working directory, but have
    # the same cache key.
    _resolve_paths(raw, Path.cwd())
    return raw


def read_tables(path: Path, extending: Sequence[Path] = ()) -> Tables:
    """The content of a TOML file, merged into the content of the file that `extends` names; paths are absolute.

    `extending` are the files that extend this one.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the settings file {path} does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}") from None
    _check_values(raw)
    _resolve_paths(raw, path.parent)
    extended = raw.pop("extends", None)
    if extended is None:
        return raw
    if not isinstance(extended, str):
        raise InputError(f"extends must be the path of a settings file, got {extended!r}")
    base = path.parent / Path(extended).expanduser()
    extending = [*extending, path.resolve()]
    if base.resolve() in extending:
        raise InputError(f"extends must not lead back to the file itself, got {extended} in {path}")
    return merge_tables(read_tables(base, extending), raw)


def merge_tables(base: Mapping[str, Any], changes: Mapping[str, Any], *, has_names: bool = False) -> Tables:
    """Merges a job file into the file that it extends, key by key, except for the tables in `_REPLACED_TABLES`."""
    merged = dict(base)
    for name, value in changes.items():
        table = merged.get(name)
        if not isinstance(value, dict) or not isinstance(table, dict) or (name in _REPLACED_TABLES and not has_names):
            merged[name] = value
        elif has_names or name in _NAMED_TABLES:
            merged[name] = merge_tables(table, value, has_names=not has_names)
        else:
            # Steps of the base would take precedence over these epochs.
            kept = {key: item for key, item in table.items() if not (key == "steps" and "epochs" in value)}
            merged[name] = {**kept, **value}
    return merged


def _check_values(raw: Tables) -> None:
    """Raises InputError for a text with a zero byte, which no path can have, and for tables nested too deeply."""
    level: list[tuple[str, Any]] = [*raw.items()]
    for _ in range(_DEEPEST):
        inner: list[tuple[str, Any]] = []
        for place, value in level:
            if isinstance(value, str) and "\0" in value:
                raise InputError(f"{place} must be a text without zero bytes, got {value!r}")
            if isinstance(value, dict):
                inner += [(f"{place}.{key}", item) for key, item in value.items()]
            elif isinstance(value, list):
                inner += [(place, item) for item in value]
        level = inner
    if level:
        raise InputError(f"{level[0][0][:_SHOWN]} must be nested at most {_DEEPEST} deep, got more")


def _resolve_paths(raw: Tables, folder: Path) -> None:
    """Makes relative paths absolute, in place; empty ones stay empty."""
    for section, key in PATHS:
        for table in _find_tables(raw, section):
            path, is_pattern = table.get(key), (section, key) in _PATTERNS
            # A path with a scheme, or inside a package, stays as it is.
            if isinstance(path, str) and path and not is_remote(path) and not path.startswith(PACKAGE):
                table[key] = join_pattern(folder, path) if is_pattern else str(folder / Path(path).expanduser())


def _explain(problem: Mapping[str, Any], tables: Tables) -> str:
    """One of pydantic's errors as `table.key must ..., got ...`."""
    place = field_place(problem, tables)
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        key, valid_keys = ".".join(place), _valid_keys(place[:-1])
        if place[-1] in valid_keys:
            # The other keys of the table choose a kind without this key.
            return f"{key} must be left out, as it does not go with the other keys of [{'.'.join(place[:-1])}]"
        # Similar keys of its table, else tables that have the key.
        similar = difflib.get_close_matches(place[-1], valid_keys, n=1, cutoff=_SIMILAR)
        paths = [f"{table}.{place[-1]}" for table in JobSettings.model_fields if place[-1] in _valid_keys([table])]
        if similar or not paths or len(place) > 1:
            return f"there is no setting {key!r}{nearest(place[-1], valid_keys)}"
        return f"there is no setting {key!r}; did you mean {' or '.join(map(repr, paths))}?"
    if problem["type"] == "union_tag_invalid" and place[-1:] in (["examples"], ["student"]):
        # The kinds of examples have no key in common: pydantic would name the function that chooses among them.
        key, names = ("task", TASKS) if place[-1] == "examples" else ("kind", STUDENTS)
        return f"{'.'.join(place)}.{key} must be one of {list(names)}, got {problem['ctx']['tag']!r}"
    return str(field_error(problem, place))


def _valid_keys(sections: list[str]) -> list[str]:
    types: dict[str, Any] = {name: field.annotation for name, field in JobSettings.model_fields.items()}
    for section in sections:
        if section not in types:  # a name that the user gives, such as that of a task
            continue
        # Pydantic's discriminators are dataclasses, too, but objects.
        kinds = [kind for kind in _kinds(types[section]) if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
        types = {field.name: field.type for kind in kinds for field in dataclasses.fields(kind)}
    return list(types)


def _kinds(annotation: Any) -> list[Any]:
    """A type, or all types of a union."""
    inner = [argument for argument in get_args(annotation) if not isinstance(argument, pydantic.Tag)]
    return [annotation] if not inner else [kind for argument in inner for kind in _kinds(argument)]
