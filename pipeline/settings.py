"""What a user may set: strict models, read from TOML, checked before anything starts."""

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import pydantic

from components.base import InputError, nearest
from components.evaluate import Thresholds
from components.sources import DocstringSource, TableSource, TextSource
from keras_bert.config import Distillation, EncoderShape, Masking, Training, check

# Values of the settings file that are paths, relative to the folder of the file.
PATHS = (("corpus", "path"), ("examples", "train"), ("examples", "validation"), ("examples", "test"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """The WordPiece vocabulary.

    Attributes:
        size: pieces, special tokens included.
        lowercase: whether text is lowercased and stripped of accents.
    """

    size: int = 8000
    lowercase: bool = True

    def __post_init__(self) -> None:
        check("VocabularySettings", "size", self.size >= 100, "be at least 100", self.size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationSettings(Distillation):
    """Distillation, and how the student trains meanwhile."""

    training: Training = Training(epochs=3.0, learning_rate=3e-4)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PushSettings:
    """Where blessed models go.

    Attributes:
        folder: gets a numbered folder a version; `pushed` under the root if empty.
    """

    folder: str = ""


def _choose(first: type, other: type, key: str) -> pydantic.BeforeValidator:
    """Reads a table as `first` if it has the key, else as `other`: one clear error instead of one a choice."""

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        chosen = first if key in value else other
        return pydantic.TypeAdapter(chosen, config=CONFIG).validate_json(json.dumps(value))

    return pydantic.BeforeValidator(read)


CONFIG = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


class Settings(pydantic.BaseModel):
    """All settings of the compression pipeline; the defaults are the default job."""

    model_config = CONFIG

    name: str = "docstrings"
    max_length: Annotated[int, pydantic.Field(ge=8, le=512)] = 128
    corpus: Annotated[TextSource | DocstringSource, _choose(TextSource, DocstringSource, "path")] = DocstringSource()
    examples: Annotated[TableSource | DocstringSource, _choose(TableSource, DocstringSource, "train")] = (
        DocstringSource()
    )
    vocabulary: VocabularySettings = VocabularySettings()
    masking: Masking = Masking()
    teacher: EncoderShape = EncoderShape(num_layers=4, hidden_size=256, num_heads=4, intermediate_size=1024)
    training: Training = Training(steps=400, learning_rate=1e-3)
    fine_tuning: Training = Training(epochs=2.0, learning_rate=3e-4)
    student: EncoderShape = EncoderShape(num_layers=2, hidden_size=256, num_heads=4, intermediate_size=1024)
    distillation: DistillationSettings = DistillationSettings()
    quantization: Training = Training(epochs=1.0, learning_rate=5e-5)
    evaluation: Thresholds = Thresholds()
    push: PushSettings = PushSettings()


def load_settings(path: Path | None, overrides: Iterable[str] = ()) -> Settings:
    """Reads a TOML file and `key=value` overrides; without a file, the defaults.

    Raises:
        InputError: the file is missing or not TOML, a key is unknown or a value breaks a rule. The message
            names the key, the rule and the value, and for an unknown key the nearest known one.
    """
    raw = _read_toml(path) if path else {}
    for override in overrides:
        _set(raw, override)
    try:
        return Settings.model_validate_json(json.dumps(raw, default=str))
    except pydantic.ValidationError as error:
        raise InputError("; ".join(_explain(problem) for problem in error.errors())) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the settings file {path} does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}") from None
    for section, key in PATHS:
        table = raw.get(section)
        if isinstance(table, dict) and isinstance(table.get(key), str):
            table[key] = str(path.parent / Path(table[key]).expanduser())
    return raw


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


def _explain(problem: Mapping[str, Any]) -> str:
    """One pydantic error as `section.key must ..., got ...`."""
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no setting {key!r}{nearest(place[-1], _known_keys(place[:-1], problem))}"
    if problem["type"] == "value_error":
        # The dataclass says `Training.steps must ...`; the user knows it as `fine_tuning.steps`.
        owner, _, rest = str(problem["ctx"]["error"]).partition(".")
        return f"{key}.{rest}" if rest and " " not in owner else f"{key}: {problem['ctx']['error']}"
    rule = problem["msg"].removeprefix("Input should ").removeprefix("Value error, ")
    return f"{key} must {rule}, got {problem['input']!r}"


def _known_keys(sections: list[str], problem: Mapping[str, Any]) -> list[str]:
    """The keys that a table of the settings may have."""
    known: dict[str, Any] = {name: field.annotation for name, field in Settings.model_fields.items()}
    for section in sections:
        choices = [choice for choice in (known[section], *get_args(known[section])) if dataclasses.is_dataclass(choice)]
        known = {field.name: field.type for choice in choices for field in dataclasses.fields(choice)}
    return list(known)
