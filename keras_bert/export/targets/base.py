"""The interface of an export target, and the facts about a model that it decides by; no TensorFlow and no Keras."""

import abc
import dataclasses
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from keras_bert.export.files import ExportedFile
from keras_bert.options.export import Export, RuntimeName
from keras_bert.options.quantization import RECIPES, RecipeName
from keras_bert.options.vocabulary import VocabularyKind

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.tasks.base import Features, Task

_INT8 = "int8, symmetric, one scale a unit; token table int8, one scale"
_INT4 = "int4, symmetric, one scale {}; token table int8, one scale"
_DYNAMIC = "int8 in products with weights, ranges found row by row; float between them"
_LEARNED = "int8 around products with weights, ranges learned in training; float between them"
_FLOAT16 = {"weights": "float16", "activations": "float32"}
_BY_RECIPE: Mapping[RecipeName, Mapping[str, str]] = {
    "mixed_wi8_ai8": {"weights": _INT8, "activations": _LEARNED},
    "dynamic_wi8": {"weights": _INT8, "activations": _DYNAMIC},
    "static_wi8_ai8": {"weights": _INT8, "activations": "int8, ranges of training rows"},
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
        "weights": "int8, symmetric, one scale a unit; token table uint8, one scale",
        "activations": _LEARNED,
    },
}


class ModelTraits(NamedTuple):
    """The facts about a model that decide whether a target can take it; None where a fact is not known yet.

    Attributes:
        task: the key of the task in `TASKS`.
        pairs: the rows hold two texts each.
        recipe: the quantization recipe; None for a float model, too.
        tokenizer: the kind of its vocabulary.
        lowercase: a WordPiece tokenizer lowercases text.
        has_segments: the model takes `segment_ids`.
        variant: the kind of the encoder's variant; None for BERT's graph, too.
        labels: the names of the classes.
    """

    task: str | None = None
    pairs: bool | None = None
    recipe: RecipeName | None = None
    tokenizer: VocabularyKind | None = None
    lowercase: bool | None = None
    has_segments: bool | None = None
    variant: str | None = None
    labels: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class ExportInputs:
    """A trained model, and how it is exported.

    Attributes:
        task: the task, with a Keras model.
        quantization: the recipe and the activation ranges; None for a float model.
        options: the settings of the export.
        folder: an existing folder, to which files are written.
        calibration_rows: training rows (rows, longest), needed where the recipe quantizes all activations.
    """

    task: "Task"
    quantization: "QuantizationParameters | None"
    options: Export
    folder: Path
    calibration_rows: "Features | None" = None

    @property
    def recipe(self) -> RecipeName | None:
        """The quantization recipe; None for a float model."""
        return None if self.quantization is None else self.quantization.recipe


class ComparisonRows(NamedTuple):
    """The rows on which a file is compared with its model, and the bound.

    Attributes:
        features: model inputs (rows, longest).
        read_texts: reads the texts of these rows.
        minimum_agreement: the least mean agreement with the quantized model, 0 to 1; see `export_model`.
    """

    features: "Features"
    read_texts: Callable[[], Sequence[str]]
    minimum_agreement: float


class ExportTarget(abc.ABC):
    """A runtime for which a model is exported: its files, its limits, how they are written and compared."""

    name: ClassVar[RuntimeName]
    """Its name in `[export] runtimes`."""

    libraries: ClassVar[tuple[str, ...]]
    """The packages that write its files; their versions are recorded."""

    @abc.abstractmethod
    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        """The files that it writes of a model with this quantization."""

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """Returns why the target cannot take a model, as a clause without a full stop; None if nothing is known."""
        return None

    @property
    def takes_any_model(self) -> bool:
        """Whether there is no model that the target refuses."""
        return type(self).find_obstacle is ExportTarget.find_obstacle

    @abc.abstractmethod
    def write(self, source: ExportInputs) -> None:
        """Writes its files.

        Raises:
            ValueError: see `check`.
        """

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """Compares a written file with the model that it was made from.

        Returns:
            The measurements by name, as plain values.

        Raises:
            ParityError: the file does not give the model's answers.
        """
        from keras_bert.export.comparison import compare_answers

        return compare_answers(source, file, sample)

    def lengths(self, source: ExportInputs) -> list[int]:
        """The most tokens of a row for each signature, shortest first."""
        return [source.task.max_length]

    def describe(self, source: ExportInputs, file: ExportedFile) -> dict[str, Any]:
        """Describes how a file is written: number formats, lengths and versions of libraries, as plain values."""
        numbers: Mapping[str, str] = _BY_NUMBERS["float32" if file.numbers == "model" else file.numbers]
        if file.numbers == "model" and source.recipe is not None:
            numbers = {"recipe": source.recipe, **_BY_RECIPE[source.recipe]}
        versions = {library: importlib.metadata.version(library) for library in self.libraries}
        opset = {"opset": source.options.opset} if file.name.endswith(".onnx") else {}
        return {**numbers, **opset, "lengths": self.lengths(source), "libraries": versions}

    def check(self, task: "Task", recipe: RecipeName | None = None) -> None:
        """Checks that the target can take a task with a Keras model, quantized by a recipe.

        Raises:
            ValueError: it cannot.
        """
        obstacle = self.find_obstacle(_read_traits(task, recipe))
        if obstacle is not None:
            raise ValueError(f"{self.name} cannot take this model: {obstacle}")


def needs_calibration_rows(recipe: RecipeName | None) -> bool:
    """Returns whether files of a recipe need rows to measure the ranges of all activations."""
    return recipe is not None and RECIPES[recipe].activations == "all"


def _read_traits(task: "Task", recipe: RecipeName | None) -> ModelTraits:
    from keras_bert.models.encoder import config_of, input_names

    variant = config_of(task.model).variant
    return ModelTraits(
        task=task.name,
        pairs=task.pairs,
        recipe=recipe,
        tokenizer=task.tokenizer.kind,
        lowercase=task.tokenizer.lowercase,
        has_segments="segment_ids" in input_names(task.network()),
        variant=None if variant is None else variant.kind,
        labels=getattr(task, "labels", ()),
    )
