"""What a user may set: strict models, read from TOML, checked before anything starts."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import pydantic

from components.beam_runner import BeamOptions
from components.cleaning import Cleaning
from components.evaluate import Thresholds
from components.sources import DocstringCorpus, DocstringTask, TableSource, TextSource
from components.task_sources import QuestionSource, SentenceSource
from keras_bert.config import Distillation, EncoderShape, Masking, Pooling, PretrainingRows, Training, check
from pipeline.settings_files import TASKS, choose_task, load

# The two kinds of data. Pydantic puts these marks into the place of an error, where a user has no use for them.
OWN, BUILT_IN = "<own>", "<built in>"


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
    return choose_task(value) if not isinstance(value, dict) or value.keys() - known else BUILT_IN


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

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

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
    """Settings of the compression pipeline, see `pipeline.settings_files.load`; without a file, the defaults."""
    return load(Settings, path, overrides)
