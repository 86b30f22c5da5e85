"""The settings of a job, validated before anything starts. A table that is present turns its steps on."""

import dataclasses
import functools
import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

import pydantic
import pydantic_core

from components.beam.engine import BeamOptions
from components.corpus.cleaning import Cleaning
from components.examples.registry import TASK_ROWS
from components.examples.source_rows import AnySource
from components.files.text_files import is_remote
from components.scoring.blessing import Thresholds
from components.sources.checkpoint import Checkpoint
from components.sources.docstring_task import DocstringTask
from components.sources.docstrings import DocstringCorpus
from components.sources.registry import TASK_SOURCES
from components.sources.reranker import Reranker
from components.sources.retrieval import RetrievalSource
from components.sources.search_texts import SearchTexts
from components.sources.table import TableSource
from components.sources.teacher_columns import FilesWithTeacherAnswers, UnlabelledSource
from components.sources.text import TextSource
from components.training.progress import VALIDATIONS
from keras_bert.core.checks import check
from keras_bert.core.config import EncoderShape
from keras_bert.core.validation import STRICT, OpenShare, validated_dataclass
from keras_bert.families.registry import AnyVariant
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.compression import StateImitation, TeacherLabels
from keras_bert.options.data import Pooling, Prompts, VocabularyKind
from keras_bert.options.export import Export
from keras_bert.options.fine_tuning import HardNegatives
from keras_bert.options.pretraining import Generator, Masking, PretrainingRows
from keras_bert.options.students import AnyStudent
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Contrast, Precision, Training
from pipeline.machine import Machine

T = TypeVar("T")

# Tags of the kinds of data. Pydantic adds them to the location of an error; no key of a table equals a tag.
OWN, BUILT_IN = "<own>", "<built in>"
# The maximum number of tokens of an input, as in the released models with the longest inputs.
MAX_LENGTH = 8192
# The maximum number of characters of a folder's name.
MAX_NAME_LENGTH = 255
TASKS = {task: f"<{task}>" for task in TASK_ROWS}


@validated_dataclass
class VocabularySettings:
    """The vocabulary that is learnt for a job without a checkpoint.

    Attributes:
        kind: the algorithm: BERT's `wordpiece`, byte-level `bpe` as in RoBERTa, or `unigram` as in ALBERT.
        size: number of entries, special tokens included; at least 100, and 261 for `bpe`.
        lowercase: whether text is lowercased and stripped of accents.
    """

    kind: VocabularyKind = "wordpiece"
    size: Annotated[int, pydantic.Field(ge=100)] = 8000
    lowercase: bool = True

    @pydantic.model_validator(mode="after")
    def _check_size(self) -> Self:
        # A byte-level vocabulary holds all bytes and the special tokens.
        check("VocabularySettings", "size", self.kind != "bpe" or self.size >= 261, "be at least 261", self.size)
        return self


@validated_dataclass
class FittedVocabulary:
    """Reduction of the vocabulary to the entries that the texts of the examples need.

    Attributes:
        size: maximum number of entries, with room for the characters of the rows; None for all entries that occur in
            training rows.
        min_count: minimum number of occurrences of an entry in training rows, if `size` is not set.
    """

    size: pydantic.PositiveInt | None = None
    min_count: pydantic.PositiveInt = 1

    @pydantic.model_validator(mode="after")
    def _check_min_count(self) -> Self:
        once = self.size is None or self.min_count == 1
        check("FittedVocabulary", "min_count", once, "be left out beside size", self.min_count)
        return self


@validated_dataclass
class PretrainingRowsSettings(PretrainingRows):
    """Settings of the rows for pre-training, and of the share of steps on short rows.

    Attributes:
        short_steps: share of the steps, above 0 and below 1, on rows of `short_length`, if it is set.
    """

    short_steps: OpenShare = 0.9


@validated_dataclass
class EncoderSettings(EncoderShape):
    """The shape of an encoder.

    Attributes:
        variant: settings of a graph that is not BERT's; the key `kind` names the graph.
    """

    variant: AnyVariant | None = None


@validated_dataclass
class PretrainingSettings(Training):
    """Settings of the pre-training of an encoder.

    Attributes:
        objective: prediction of `masked_tokens`, or detection of `replaced_tokens` (Clark et al. 2020).
        span_boundary: whether masked tokens are also predicted from the boundaries of their spans (Joshi et al. 2020).
        mask_decoder: whether DeBERTa's decoder, which reads absolute positions, predicts masked tokens (He et al. 2021,
            section 3.2).
        validations: number of validations on held-out rows, evenly spread over the training.
    """

    objective: Literal["masked_tokens", "replaced_tokens"] = "masked_tokens"
    span_boundary: bool = False
    mask_decoder: bool = False
    epochs: pydantic.PositiveFloat = 1.0
    learning_rate: pydantic.PositiveFloat = 1e-4
    precision: Precision = "auto"
    validations: pydantic.PositiveInt = VALIDATIONS


@validated_dataclass
class GeneralDistillationSettings(Training, StateImitation, TextSource):
    """Settings of the distillation of the initial model's states into a student, on texts without labels."""

    epochs: pydantic.PositiveFloat = 1.0
    # As MiniLM's (Wang et al. 2020, section 4.1).
    learning_rate: pydantic.PositiveFloat = 5e-4
    precision: Precision = "auto"

    @pydantic.model_validator(mode="after")
    def _check_losses(self) -> Self:
        self.check_on()
        return self


@validated_dataclass
class PushSettings:
    """The destination of blessed models.

    Attributes:
        folder: the folder with one numbered folder per version; empty for `pushed` under the root.
    """

    folder: str = ""

    @pydantic.model_validator(mode="after")
    def _check_folder(self) -> Self:
        rule = "be on this machine; --root s3://... pushes to object storage, and the command `publish` to the hub"
        check("PushSettings", "folder", not is_remote(self.folder), rule, self.folder)
        return self

    def path(self) -> Path | None:
        """The absolute path of the folder; None for the folder under the root."""
        return Path(os.path.abspath(Path(self.folder).expanduser())) if self.folder else None


def _discriminate_built_in(built_in: type) -> pydantic.Discriminator:
    """Chooses the built-in kind for a table with only its keys, so that errors are reported for one kind only."""
    built_in_keys = {field.name for field in dataclasses.fields(built_in)}

    def choose(value: Any) -> str:
        return OWN if isinstance(value, dict) and value.keys() - built_in_keys else BUILT_IN

    return pydantic.Discriminator(choose)


def _choose_examples(value: Any) -> str:
    """Returns the tag of the built-in task if the table has only its keys, else the tag of the table's task."""
    if isinstance(value, dict) and not value.keys() - {field.name for field in dataclasses.fields(DocstringTask)}:
        return BUILT_IN
    task = value.get("task", TableSource.task) if isinstance(value, dict) else getattr(value, "task", TableSource.task)
    return TASKS.get(task, task) if isinstance(task, str) else repr(task)


if TYPE_CHECKING:
    Examples = AnySource
else:
    Examples = Annotated[
        functools.reduce(
            operator.or_,
            (Annotated[source, pydantic.Tag(TASKS[task])] for task, source in TASK_SOURCES.items()),
            Annotated[DocstringTask, pydantic.Tag(BUILT_IN)],
        ),
        pydantic.Discriminator(_choose_examples),
    ]


class Settings(pydantic.BaseModel):
    """All settings of a job.

    A job starts from a corpus, a checkpoint or both. Without examples of a task it only pre-trains. A student, pruning
    and quantization are optional.

    Attributes:
        name: name of the job; models are pushed to ROOT/pushed/NAME/1, 2, 3 and so on.
        max_length: maximum number of tokens of an input, 8 to 8192; longer texts are truncated, and contexts of
            questions are read in windows.
        stride: number of tokens from one window of a context to the next; a third of `max_length` if it is not set.
        max_query_length: maximum number of tokens of a question; a sixth of `max_length` if it is not set.
        pooling: the vector of a text: the `mean` of its token states, or the state of `[CLS]` (`cls`); None for the
            pooling of the checkpoint, or for the mean if the checkpoint has none.
        normalize: whether the vectors of an embedding or a retrieval have length 1, so that inner products are cosines;
            None for the setting of the checkpoint, or for true if the checkpoint makes no vectors.
        seeds: number of models that are trained with different seeds, 1 to 100; tables show mean and standard
            deviation.
        contrast: the loss of retrieval, for the teacher and all models derived from it.
        hard_negatives: negatives that a model finds for the training queries of retrieval.
        reranker: a cross-encoder with one label, a saved or pushed re-ranker, or a larger model of vectors. It scores
            the passages and negatives of a retrieval; vectors learn from the scores as `contrast.scores` says.
        adaptation: parameter-efficient adaptation, which trains few weights beside the frozen encoder (LoRA, adapters,
            prompt or biases).
        page: texts that `index.html` of an embedding or a retrieval searches.
    """

    # Building the validators takes a third of a second, so it is deferred until settings are read.
    model_config = pydantic.ConfigDict(**STRICT, frozen=True, defer_build=True)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=MAX_NAME_LENGTH)] = "model"
    max_length: Annotated[int, pydantic.Field(ge=8, le=MAX_LENGTH)] = 128
    stride: Annotated[int, pydantic.Field(ge=1)] | None = None
    max_query_length: Annotated[int, pydantic.Field(ge=1)] | None = None
    pooling: Pooling | None = None
    normalize: bool | None = None
    seeds: Annotated[int, pydantic.Field(ge=1, le=100)] = 1
    corpus: (
        Annotated[
            Annotated[TextSource, pydantic.Tag(OWN)] | Annotated[DocstringCorpus, pydantic.Tag(BUILT_IN)],
            _discriminate_built_in(DocstringCorpus),
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
    examples: Examples | None = None
    fine_tuning: FineTuningSettings = FineTuningSettings()
    contrast: Contrast | None = None
    hard_negatives: HardNegatives | None = None
    reranker: Reranker | None = None
    adaptation: Adaptation | None = None
    student: AnyStudent | None = None
    general_distillation: GeneralDistillationSettings | None = None
    teacher_labels: TeacherLabels | None = None
    unlabelled: UnlabelledSource | None = None
    distillation: DistillationSettings = DistillationSettings()
    pruning: PruningSettings | None = None
    quantization: QuantizationSettings | None = None
    export: Export = Export()
    evaluation: Thresholds = Thresholds()
    push: PushSettings = PushSettings()
    page: SearchTexts | None = None
    beam: BeamOptions = BeamOptions()
    machine: Machine = Machine()

    def prompts(self) -> Prompts:
        """Returns the prompts of queries and passages from `[examples]`, or else from the checkpoint."""
        source = self.examples
        if not isinstance(source, RetrievalSource):
            return Prompts()
        if source.prompts is not None or self.checkpoint is None:
            return source.prompts or Prompts()
        return self.checkpoint.prompts()

    def has_teacher_answers(self) -> bool:
        """Returns whether a teacher's answers stand in the examples or in the unlabelled texts."""
        examples, unlabelled = self.examples, self.unlabelled
        given = isinstance(examples, FilesWithTeacherAnswers) and examples.has_teacher_answers
        return given or (unlabelled is not None and unlabelled.has_teacher_answers) or self.reranker is not None

    def run_options(self) -> dict[str, Any]:
        """Returns the settings of the run itself, as arguments of `run_pipeline`."""
        return {"machine": self.machine, "settings": pydantic_core.to_jsonable_python(dict(self))}


def select_fields(settings: Any, kind: type[T]) -> T:
    """The fields of a base class in a table that several steps read: each runs again only if one of its own changes."""
    fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**fields)
