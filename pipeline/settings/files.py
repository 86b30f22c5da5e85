"""Reading settings: a TOML file and overrides into a strict model, with errors that name key, rule and value."""

import copy
import dataclasses
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pydantic

from components.dsl.errors import InputError, nearest
from components.files.text_files import is_remote
from components.sources.checkpoint import PACKAGE
from keras_bert.variants.base import Variant
from keras_bert.variants.registry import VARIANTS
from pipeline.settings.kinds import OF_A_KIND
from pipeline.settings.rules import check_tables
from pipeline.settings.schema import TASKS, Settings

# The job that needs no settings file.
DEFAULT_JOB = Path(__file__).with_name("default_job.toml")

# Values of a settings file that are paths, relative to the folder of the file.
_SPLITS = (("examples", "train"), ("examples", "validation"), ("examples", "test"))
_TEXTS = (("corpus", "path"), ("general_distillation", "path"), ("unlabelled", "path"))
PATHS = (("checkpoint", "path"), *_TEXTS, *_SPLITS, ("push", "folder"))


# Tables that are one of several kinds, as their keys tell: another one is laid over the whole.
_OF_KINDS = ("corpus", "examples", "student")

Tables = dict[str, Any]


def load_settings(path: Path | None, overrides: Iterable[str] = ()) -> Settings:
    """Reads a TOML file and `key=value` overrides; without a file, the default job.

    Args:
        path: the file.
        overrides: the newest word on single keys, such as `pretraining.steps=7`.

    Raises:
        InputError: the file is missing or not TOML, a key is unknown, a value breaks a rule, or tables do not go
            together. The message names the key, the rule and the value, and for an unknown key the nearest known one.
    """
    return make_settings(read_tables(path or DEFAULT_JOB), overrides)


def make_settings(tables: Mapping[str, Any], overrides: Iterable[str] = ()) -> Settings:
    """Settings of what `read_tables` gave; raises as `load_settings` does."""
    raw = copy.deepcopy(dict(tables))
    for override in overrides:
        _set(raw, override)
    try:
        settings = Settings.model_validate_json(json.dumps(raw, default=str))
    except pydantic.ValidationError as error:
        raise InputError("; ".join(dict.fromkeys(map(_explain, _problems(error))))) from None
    check_tables(settings)
    return settings


def read_tables(path: Path, inside: Sequence[Path] = ()) -> Tables:
    """The content of a TOML file, laid over that of the file that its key `extends` names; paths are absolute.

    Args:
        path: the file.
        inside: files that lead here by `extends`.

    Raises:
        InputError: a file is missing or not TOML, or extends itself.
    """
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
    extended = raw.pop("extends", None)
    if extended is None:
        return raw
    if not isinstance(extended, str):
        raise InputError(f"extends must be the path of a settings file, got {extended!r}")
    below = path.parent / Path(extended).expanduser()
    here = [*inside, path.resolve()]
    if below.resolve() in here:
        raise InputError(f"extends must not lead back to the file itself, got {extended} in {path}")
    return lay_over(read_tables(below, here), raw)


def lay_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tables:
    """Tables over others: key by key, but of those that are one of several kinds as a whole."""
    laid = dict(below)
    for name, value in above.items():
        under = laid.get(name)
        if not isinstance(value, dict) or not isinstance(under, dict) or name in _OF_KINDS:
            laid[name] = value
            continue
        # Steps would overrule the epochs above them.
        kept = {key: own for key, own in under.items() if not (key == "steps" and "epochs" in value)}
        laid[name] = {**kept, **value}
    return laid


def _resolve(folder: Path, value: str) -> str:
    """A path as the settings file means it; one with a scheme, or inside a package, stays as it is."""
    return value if is_remote(value) or value.startswith(PACKAGE) else str(folder / Path(value).expanduser())


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


def _problems(error: pydantic.ValidationError) -> Iterator[Mapping[str, Any]]:
    """The errors that pydantic found, those of a variant's own fields one by one."""
    for problem in error.errors():
        if problem["type"] == OF_A_KIND:
            yield from ({**inner, "loc": (*problem["loc"], *inner["loc"])} for inner in problem["ctx"]["problems"])
        else:
            yield {**problem}


def _explain(problem: Mapping[str, Any]) -> str:
    """One pydantic error as `section.key must ..., got ...`."""
    place = [str(part) for part in problem["loc"] if not str(part).startswith("<")]
    key = ".".join(place)
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _known_keys(place[:-1])
        if place[-1] in known:
            # Of another kind of this table: the table is read as one kind, which its other keys choose.
            return f"{key} must be left out, as it does not go with the other keys of [{'.'.join(place[:-1])}]"
        return f"there is no setting {key!r}{nearest(place[-1], known)}"
    if problem["type"] == "value_error":
        # The dataclass says `Training.steps must ...`; the user knows it as `fine_tuning.steps`.
        owner, _, rest = str(problem["ctx"]["error"]).partition(".")
        return f"{key}.{rest}" if rest and " " not in owner else f"{key}: {problem['ctx']['error']}"
    if problem["type"] == "union_tag_invalid":
        return f"{key}.task must be one of {list(TASKS)}, got {problem['ctx']['tag']!r}"
    if problem["type"] == "missing":
        return f"{key} must be set"
    rule = problem["msg"].removeprefix("Input should ").removeprefix("String should ").removeprefix("Value error, ")
    return f"{key} must {rule}, got {problem['input']!r}{problem.get('hint', '')}"


def _known_keys(sections: list[str]) -> list[str]:
    """The keys that a table of the settings may have."""
    known: dict[str, Any] = {name: field.annotation for name, field in Settings.model_fields.items()}
    for section in sections:
        # Pydantic's discriminators are dataclasses, too, but objects.
        kinds = [kind for kind in _kinds(known[section]) if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
        known = {field.name: field.type for kind in kinds for field in dataclasses.fields(kind)}
    return list(known)


def _kinds(annotation: Any) -> list[Any]:
    """A type, or all types of a union; of a variant all its kinds."""
    if annotation is Variant:
        return list(VARIANTS.values())
    inner = [argument for argument in get_args(annotation) if not isinstance(argument, pydantic.Tag)]
    return [annotation] if not inner else [kind for argument in inner for kind in _kinds(argument)]
