"""The interface of an export target, and the model's properties that it checks; it imports no TensorFlow or Keras."""

import abc
import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.options.data import Lowercasing, VocabularyKind
from keras_bert.options.quantization import RecipeName

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.tasks.base import Task

_TABLES = "tables of tokens and positions int8, one scale each"
_KERNELS = "int8, symmetric, one scale a unit"
_INT8 = f"{_KERNELS}; {_TABLES}"
_INT4 = f"int4, symmetric, one scale {{}}; {_TABLES}"
# Where all activations are integers, positions are one of them.
_STATIC = f"{_KERNELS}; token table int8, one scale"
_DYNAMIC = "int8 in products with weights, ranges found row by row; float between them"
_LEARNED = "int8 around products with weights, ranges learned in training; float between them"
_FLOAT16 = {"weights": "float16", "activations": "float32"}
_BY_RECIPE: Mapping[RecipeName, Mapping[str, str]] = {
    "mixed_wi8_ai8": {"weights": _INT8, "activations": _LEARNED},
    "dynamic_wi8": {"weights": _INT8, "activations": _DYNAMIC},
    "static_wi8_ai8": {"weights": _STATIC, "activations": "int8, ranges of training rows"},
    "static_wi8_ai16": {"weights": _STATIC, "activations": "int16, symmetric, 1.5 times the ranges of training rows"},
    "weights_wi4": {"weights": _INT4.format("a unit"), "activations": _DYNAMIC},
    "weights_wi4_block32": {"weights": _INT4.format("for 32 inputs of a unit"), "activations": _DYNAMIC},
    "float16": _FLOAT16,
}
_BY_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "float32": {"weights": "float32"},
    "float16": _FLOAT16,
    "dynamic_int8": {
        "weights": "int8, symmetric, seven bits, one scale a unit; token table uint8, one scale",
        "activations": _DYNAMIC,
    },
    "static_int8": {
        "weights": f"{_KERNELS}, seven bits; tables of tokens and positions uint8, one scale each",
        "activations": _LEARNED,
    },
}


class ModelTraits(NamedTuple):
    """The properties of a model that decide whether a target supports it; None for a property that is not yet known.

    `recipe` is None for a float model, too, and `variant` for BERT's graph; `copy_obstacle` is the part of the
    tokenizer that those for apps do not know, empty if they know all.
    """

    task: str | None = None
    pairs: bool | None = None
    recipe: RecipeName | None = None
    tokenizer: VocabularyKind | None = None
    lowercase: Lowercasing | None = None
    copy_obstacle: str = ""
    has_segments: bool | None = None
    variant: str | None = None
    labels: Sequence[str] = ()

    @property
    def task_class(self) -> "type[Task] | None":
        """The class of the task; None if the task is not known."""
        from keras_bert.tasks.registry import TASKS

        return None if self.task is None else TASKS[self.task]

    @property
    def other_tokenizer(self) -> str:
        """What the tokenizer is where it is not BERT's WordPiece, which operations in a file are; empty if it is."""
        if self.tokenizer == "wordpiece" and self.lowercase is None:
            return "WordPiece with added tokens or without a split at Chinese characters"
        return "" if self.tokenizer in (None, "wordpiece") else f"a {self.tokenizer} tokenizer"


class ExportTarget(abc.ABC):
    """The base class of export targets: writes a model's files for a runtime, and compares them with the model."""

    name: ClassVar[str]
    """The name of the target in `[export] runtimes`."""

    measured_by: ClassVar[str] = ""
    """The target whose files are scored in place of these, and are written before them; empty if these are."""

    libraries: ClassVar[tuple[str, ...]]
    """The packages that write the files; their versions are recorded."""

    written: ClassVar[tuple[ExportedFile, ...]]
    """The files that the target writes for every model."""

    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        """The files that the target writes for a model with this quantization."""
        return self.written

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """The reason why the target does not support a model, without a full stop; None if no reason is known."""
        return None

    @property
    def takes_any_model(self) -> bool:
        """True if the target supports every model."""
        return type(self).find_obstacle is ExportTarget.find_obstacle

    @abc.abstractmethod
    def write(self, source: ExportInputs) -> None:
        """Writes the files of a model."""

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """Compares the outputs of an exported file with those of the model; returns plain measurements by name."""
        from keras_bert.export.comparison import compare_answers

        return compare_answers(source, file, sample)

    def lengths(self, source: ExportInputs) -> list[int]:
        """The maximum length in tokens for each signature, shortest first."""
        return [source.task.max_length]

    def describe(self, source: ExportInputs, file: ExportedFile) -> dict[str, Any]:
        """Describes a file: number formats, lengths and versions of libraries, as plain values."""
        numbers: Mapping[str, str] = _BY_NUMBERS["float32" if file.numbers == "model" else file.numbers]
        if file.numbers == "model" and source.recipe is not None:
            numbers = {"recipe": source.recipe, **_BY_RECIPE[source.recipe]}
        versions = {library: importlib.metadata.version(library) for library in self.libraries}
        opset = {"opset": source.options.opset} if file.name.endswith(".onnx") else {}
        return {**numbers, **opset, "lengths": self.lengths(source), "libraries": versions}

    def check(self, task: "Task", recipe: RecipeName | None = None) -> None:
        """Checks that the target supports a task with a Keras model, quantized by a recipe."""
        obstacle = self.find_obstacle(_read_traits(task, recipe))
        if obstacle is not None:
            raise ValueError(f"{self.name} cannot take this model: {obstacle}")


def _read_traits(task: "Task", recipe: RecipeName | None) -> ModelTraits:
    from keras_bert.models.encoder import config_of, input_names
    from keras_bert.tokenizers.subword_copies import find_copy_obstacle

    variant = config_of(task.model).variant
    return ModelTraits(
        task=task.name,
        pairs=task.pairs,
        recipe=recipe,
        tokenizer=task.tokenizer.kind,
        lowercase=task.tokenizer.lowercase,
        copy_obstacle="" if task.tokenizer.lowercase is not None else find_copy_obstacle(task.tokenizer.definition()),
        has_segments="segment_ids" in input_names(task.network()),
        variant=None if variant is None else variant.kind,
        labels=task.labels,
    )
