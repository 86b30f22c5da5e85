"""What a user may set: strict models, read from TOML, checked before anything starts."""

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import pydantic

from components.base import InputError, nearest
from components.beam_runner import BeamOptions
from components.cleaning import Cleaning
from components.evaluate import Thresholds
from components.sources import DocstringCorpus, DocstringTask, TableSource, TextSource
from components.task_sources import QuestionSource, SentenceSource
from components.text_files import is_remote
from keras_bert.config import Distillation, EncoderShape, Masking, Pooling, PretrainingRows, Training, check

# Values of the settings file that are paths, relative to the folder of the file.
PATHS = (("corpus", "path"), *(("examples", split) for split in ("train", "validation", "test")), ("push", "folder"))

# The two kinds of data. Pydantic puts these marks into the place of an error, where a user has no use for them.
OWN, BUILT_IN = "<own>", "<built in>"
# The user's own labelled data is told apart by its task.
TASKS = {task: f"<{task}>" for task in ("classification", "regression", "token_classification", "question_answering")}


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

    training: Training = Training(epochs=2.0, learning_rate=1e-3)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRowsSettings(PretrainingRows):
    """The rows for pre-training, and how long to train on the short ones.

    Attributes:
        short_steps: share of the steps that are on rows of `short_length`, where that is set.
    """

    short_steps: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        check("PretrainingRowsSettings", "short_steps", 0 < self.short_steps < 1, "be in (0, 1)", self.short_steps)

    def rows(self) -> PretrainingRows:
        """What the step that makes the rows needs to know; more would run it again without need."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(PretrainingRows)}
        return PretrainingRows(**fields)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PushSettings:
    """Where blessed models go.

    Attributes:
        folder: gets a numbered folder a version; `pushed` under the root if empty.
    """

    folder: str = ""


def _own_if_not(built_in: type) -> pydantic.Discriminator:
    """Reads a table with the docstrings' keys only as those, any other as the user's own: one error, not two."""
    known = {field.name for field in dataclasses.fields(built_in)}

    def choose(value: Any) -> str:
        return OWN if isinstance(value, dict) and value.keys() - known else BUILT_IN

    return pydantic.Discriminator(choose)


def _choose_examples(value: Any) -> str:
    """As `_own_if_not`, and the user's own table as that of the task it names."""
    known = {field.name for field in dataclasses.fields(DocstringTask)}
    if not isinstance(value, dict) or not value.keys() - known:
        return BUILT_IN
    task = value.get("task", "classification")
    return TASKS.get(task, task) if isinstance(task, str) else repr(task)


def _small(num_layers: int) -> EncoderShape:
    """An encoder that two cores pre-train in minutes: as wide as BERT-Tiny (Turc et al. 2019)."""
    return EncoderShape(
        num_layers=num_layers,
        hidden_size=128,
        num_heads=2,
        intermediate_size=512,
        attention_dropout=0.0,
        initializer_range=0.06,
    )


def _check_task(source: Any) -> Any:
    """Raises ValueError unless all steps of the pipeline know the task."""
    if source.task != "classification":
        rule = "be 'classification': the later steps of the pipeline know no other"
        check(type(source).__name__, "task", False, rule, source.task)
    return source


class Settings(pydantic.BaseModel):
    """All settings of the compression pipeline; the defaults are the default job."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "docstrings"
    max_length: Annotated[int, pydantic.Field(ge=8, le=512)] = 128
    pooling: Pooling = "mean"
    corpus: Annotated[
        Annotated[TextSource, pydantic.Tag(OWN)] | Annotated[DocstringCorpus, pydantic.Tag(BUILT_IN)],
        _own_if_not(DocstringCorpus),
    ] = DocstringCorpus()
    examples: Annotated[
        Annotated[TableSource, pydantic.Tag(TASKS["classification"])]
        | Annotated[TableSource, pydantic.Tag(TASKS["regression"])]
        | Annotated[SentenceSource, pydantic.Tag(TASKS["token_classification"])]
        | Annotated[QuestionSource, pydantic.Tag(TASKS["question_answering"])]
        | Annotated[DocstringTask, pydantic.Tag(BUILT_IN)],
        pydantic.Discriminator(_choose_examples),
        pydantic.AfterValidator(_check_task),
    ] = DocstringTask()
    cleaning: Cleaning = Cleaning()
    beam: BeamOptions = BeamOptions()
    vocabulary: VocabularySettings = VocabularySettings()
    masking: Masking = Masking()
    pretraining_rows: PretrainingRowsSettings = PretrainingRowsSettings()
    teacher: EncoderShape = _small(num_layers=2)
    training: Training = Training(steps=4000, batch_size=8, learning_rate=1.5e-3)
    fine_tuning: Training = Training(epochs=2.0, learning_rate=1e-3)
    student: EncoderShape = _small(num_layers=1)
    distillation: DistillationSettings = DistillationSettings()
    quantization: Training = Training(epochs=0.5, learning_rate=1e-4)
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
        return Settings.model_validate_json(json.dumps(_complete(raw), default=str))
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
        if isinstance(table, dict) and isinstance(table.get(key), str) and table[key]:
            table[key] = _resolve(path.parent, table[key])
    return raw


def _resolve(folder: Path, value: str) -> str:
    """A path as the settings file means it; one with a scheme, as `gs://bucket/texts`, stays as it is."""
    return value if is_remote(value) else str(folder / Path(value).expanduser())


def _complete(raw: dict[str, Any]) -> dict[str, Any]:
    """The tables of the user on top of the default ones: who sets one key of a table keeps the others."""
    defaults = {name: getattr(Settings(), name) for name in raw.keys() & Settings.model_fields.keys()}
    tables = {
        name: dataclasses.asdict(default)
        for name, default in defaults.items()
        if dataclasses.is_dataclass(default) and not isinstance(default, type) and name not in ("corpus", "examples")
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


def _explain(problem: Mapping[str, Any]) -> str:
    """One pydantic error as `section.key must ..., got ...`."""
    place = [str(part) for part in problem["loc"] if not str(part).startswith("<")]
    key = ".".join(place)
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no setting {key!r}{nearest(place[-1], _known_keys(place[:-1]))}"
    if problem["type"] == "value_error":
        # The dataclass says `Training.steps must ...`; the user knows it as `fine_tuning.steps`.
        owner, _, rest = str(problem["ctx"]["error"]).partition(".")
        return f"{key}.{rest}" if rest and " " not in owner else f"{key}: {problem['ctx']['error']}"
    if problem["type"] == "union_tag_invalid":
        return f"{key}.task must be one of {list(TASKS)}, got {problem['ctx']['tag']!r}"
    if problem["type"] == "missing":
        return f"{key} must be set"
    rule = problem["msg"].removeprefix("Input should ").removeprefix("Value error, ")
    return f"{key} must {rule}, got {problem['input']!r}"


def _known_keys(sections: list[str]) -> list[str]:
    """The keys that a table of the settings may have."""
    known: dict[str, Any] = {name: field.annotation for name, field in Settings.model_fields.items()}
    for section in sections:
        kinds = [kind for kind in _kinds(known[section]) if dataclasses.is_dataclass(kind)]
        known = {field.name: field.type for kind in kinds for field in dataclasses.fields(kind)}
    return list(known)


def _kinds(annotation: Any) -> list[Any]:
    """A type, or all types of a union."""
    inner = [argument for argument in get_args(annotation) if not isinstance(argument, pydantic.Tag)]
    return [annotation] if not inner else [kind for argument in inner for kind in _kinds(argument)]
