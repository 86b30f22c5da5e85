"""What a user may set: strict models, checked before anything starts. A table that is present switches its steps on."""

import dataclasses
from typing import Annotated, Any, Literal, TypeVar

import pydantic
import pydantic_core

from components.beam.engine import BeamOptions
from components.corpus.cleaning import Cleaning
from components.scoring.blessing import Thresholds
from components.sources.checkpoint import Checkpoint
from components.sources.docstring_task import DocstringTask
from components.sources.docstrings import DocstringCorpus
from components.sources.questions import QuestionSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.text import TextSource
from components.training.on_rows import VALIDATIONS
from keras_bert.checks import check
from keras_bert.config import EncoderShape
from keras_bert.options.adaptation import ADAPTATIONS, Adaptation
from keras_bert.options.distillation import Distillation
from keras_bert.options.export import Export
from keras_bert.options.generator import Generator
from keras_bert.options.imitation import Imitation
from keras_bert.options.masking import Masking
from keras_bert.options.pooling import Pooling
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.options.pruning import Pruning
from keras_bert.options.quantization import Quantization
from keras_bert.options.selection import Selection
from keras_bert.options.student import Student
from keras_bert.options.training import Precision, Training
from keras_bert.options.transfer import Transfer
from keras_bert.options.vocabulary import VocabularyKind
from keras_bert.variants.base import Variant
from keras_bert.variants.registry import VARIANTS
from pipeline.machine import Machine
from pipeline.settings.general_distillation import GeneralDistillationSettings
from pipeline.settings.kinds import by_kind

T = TypeVar("T")

# The kinds of data. Pydantic puts these marks into the place of an error, where a user has no use for them.
OWN, BUILT_IN = "<own>", "<built in>"
_NAMED, _TABLE = "<named>", "<table>"
# The most tokens of an input: those of the released models that take the most.
LONGEST = 8192
TASKS = {
    task: f"<{task}>"
    for task in ("classification", "regression", "token_classification", "question_answering", "embedding")
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """The vocabulary that is learnt where there is no checkpoint.

    Attributes:
        kind: of its pieces: BERT's `wordpiece`, byte-level `bpe` as in RoBERTa, or `unigram` as in ALBERT.
        size: pieces, special tokens included.
        lowercase: whether text is lowercased and stripped of accents.
    """

    kind: VocabularyKind = "wordpiece"
    size: int = 8000
    lowercase: bool = True

    def __post_init__(self) -> None:
        # Of bytes, one piece each, and the special tokens.
        least = 261 if self.kind == "bpe" else 100
        check("VocabularySettings", "size", self.size >= least, f"be at least {least}", self.size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedVocabulary:
    """Which pieces of a vocabulary stay where the examples' texts decide.

    Attributes:
        size: the most pieces; None for all that stand in training rows.
        min_count: how often a piece must stand there, without a size.
    """

    size: int | None = None
    min_count: int = 1

    def __post_init__(self) -> None:
        check("FittedVocabulary", "size", self.size is None or self.size >= 100, "be at least 100", self.size)
        check("FittedVocabulary", "min_count", self.min_count >= 1, "be at least 1", self.min_count)
        once = self.size is None or self.min_count == 1
        check("FittedVocabulary", "min_count", once, "be left out beside size", self.min_count)


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderSettings(EncoderShape):
    """The shape of an encoder; its variant is read as the kind that its table names."""

    variant: Annotated[Variant | None, pydantic.PlainValidator(by_kind(VARIANTS))] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingSettings(Training):
    """What an encoder is pre-trained to do, and how.

    Attributes:
        objective: `masked_tokens`, or to find `replaced_tokens` among the text's own (Clark et al. 2020).
        span_boundary: whether masked tokens are also predicted from the borders of their spans (Joshi et al. 2020).
        mask_decoder: whether DeBERTa's decoder, told absolute positions, predicts them (He et al. 2021, section 3.2).
        validations: on held-out rows, evenly spread over the training.
    """

    objective: Literal["masked_tokens", "replaced_tokens"] = "masked_tokens"
    span_boundary: bool = False
    mask_decoder: bool = False
    epochs: float = 1.0
    learning_rate: float = 1e-4
    precision: Precision = "auto"
    validations: int = VALIDATIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        check("PretrainingSettings", "validations", self.validations >= 1, "be at least 1", self.validations)


def _choose_weights(value: Any) -> str:
    return _TABLE if isinstance(value, dict) else _NAMED


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuningSettings(Training, Selection):
    """How a teacher is fine-tuned, which of its weights are kept, and how much each label weighs."""

    precision: Precision = "auto"
    class_weights: Annotated[
        Annotated[Literal["none", "balanced"], pydantic.Tag(_NAMED)]
        | Annotated[dict[str, float], pydantic.Tag(_TABLE)],
        pydantic.Discriminator(_choose_weights),
    ] = "none"

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        Selection.__post_init__(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswersSettings(Training, Distillation):
    """How a model learns what its teacher answers."""

    learning_rate: float = 1e-4
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        Distillation.__post_init__(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationSettings(AnswersSettings, Imitation):
    """What a student listens to, what else of its teacher it imitates, and how it trains meanwhile."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Imitation.__post_init__(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PruningSettings(AnswersSettings, Pruning):
    """Which weights become zero, and how the others learn to do without them."""

    epochs: float = 1.0
    learning_rate: float = 5e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        Pruning.__post_init__(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuantizationSettings(AnswersSettings, Quantization):
    """How a model is rounded, and trains on meanwhile; its teacher is its float self.

    Attributes:
        post_training: whether it is rounded as it is, without a training, whose keys say nothing then.
    """

    epochs: float = 1.0
    learning_rate: float = 2e-5
    post_training: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        Quantization.__post_init__(self)


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
    """The built-in task where a table has its keys only, else the user's own rows by the task that they name."""
    if isinstance(value, dict) and not value.keys() - {field.name for field in dataclasses.fields(DocstringTask)}:
        return BUILT_IN
    task = value.get("task", "classification") if isinstance(value, dict) else "classification"
    return TASKS.get(task, task) if isinstance(task, str) else repr(task)


class Settings(pydantic.BaseModel):
    """All settings.

    There is a start, a corpus or a checkpoint or both; examples of a task, without which there is but pre-training; and
    a student, a quantization, or neither.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "model"
    max_length: Annotated[int, pydantic.Field(ge=8, le=LONGEST)] = 128
    stride: Annotated[int, pydantic.Field(ge=1)] | None = None
    max_query_length: Annotated[int, pydantic.Field(ge=1)] | None = None
    pooling: Pooling = "mean"
    seeds: Annotated[int, pydantic.Field(ge=1, le=100)] = 1
    corpus: (
        Annotated[
            Annotated[TextSource, pydantic.Tag(OWN)] | Annotated[DocstringCorpus, pydantic.Tag(BUILT_IN)],
            _own_if_not(DocstringCorpus),
        ]
        | None
    ) = None
    cleaning: Cleaning = Cleaning()
    vocabulary: VocabularySettings = VocabularySettings()
    fitted_vocabulary: FittedVocabulary | None = None
    masking: Masking = Masking()
    pretraining_rows: PretrainingRowsSettings = PretrainingRowsSettings()
    encoder: EncoderSettings | None = None
    pretraining: PretrainingSettings = PretrainingSettings()
    generator: Generator = Generator()
    checkpoint: Checkpoint | None = None
    examples: (
        Annotated[
            Annotated[TableSource, pydantic.Tag(TASKS["classification"])]
            | Annotated[TableSource, pydantic.Tag(TASKS["regression"])]
            | Annotated[TableSource, pydantic.Tag(TASKS["embedding"])]
            | Annotated[SentenceSource, pydantic.Tag(TASKS["token_classification"])]
            | Annotated[QuestionSource, pydantic.Tag(TASKS["question_answering"])]
            | Annotated[DocstringTask, pydantic.Tag(BUILT_IN)],
            pydantic.Discriminator(_choose_examples),
        ]
        | None
    ) = None
    fine_tuning: FineTuningSettings = FineTuningSettings()
    adaptation: Annotated[Adaptation | None, pydantic.PlainValidator(by_kind(ADAPTATIONS))] = None
    student: Student | None = None
    general_distillation: GeneralDistillationSettings | None = None
    transfer: Transfer | None = None
    unlabelled: TextSource | None = None
    distillation: DistillationSettings = DistillationSettings()
    pruning: PruningSettings | None = None
    quantization: QuantizationSettings | None = None
    export: Export = Export()
    evaluation: Thresholds = Thresholds()
    push: PushSettings = PushSettings()
    beam: BeamOptions = BeamOptions()
    machine: Machine = Machine()

    def run_options(self) -> dict[str, Any]:
        """What the settings say of a run as a whole, as arguments of `run_pipeline`."""
        return {"machine": self.machine, "settings": pydantic_core.to_jsonable_python(dict(self))}


def part(settings: Any, kind: type[T]) -> T:
    """Of a table that is made of several records the fields of one: a step that reads more would run again for it."""
    fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**fields)
