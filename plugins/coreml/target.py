"""Core ML: an `.mlpackage` with token ids as inputs, and a function for each length."""

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.dsl.errors import install_command
from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task
    from plugins.coreml.reader import CoreMLModel

# A folder that Apple's tools treat as one file, and the graph in it.
COREML_FOLDER = "model.mlpackage"
COREML_FILE = f"{COREML_FOLDER}/Data/com.apple.CoreML/model.mlmodel"
# The interpreter takes one row after another, with all of its numbers rounded to float16.
_ROWS = 64
_WEIGHTS = {
    8: "int8, symmetric, one scale a unit; tables int8, one scale a row",
    4: "4 bits, {}; tables int8, one scale a row",
    16: "float16",
}


def open_model(file: Path) -> "CoreMLModel":
    """Opens a `model.mlmodel` in an interpreter."""
    from plugins.coreml.reader import CoreMLModel

    return CoreMLModel(file)


def describe_package(package: Path) -> dict[str, Any]:
    """The metadata of an `.mlpackage`, and its operations."""
    from plugins.coreml.reader import read_metadata

    if obstacle := CoreML().find_obstacle(ModelTraits()):
        raise ValueError(f"{package} cannot be read: {obstacle}")
    return read_metadata(package, package / Path(COREML_FILE).relative_to(COREML_FOLDER))


COREML = ExportedFile(
    COREML_FILE,
    "float16",
    f"weights {{weights}}; for Core ML, `{COREML_FOLDER}`; functions for {{lengths}} tokens",
    tag="coreml",
    open=open_model,
    describe=describe_package,
)


class CoreML(ExportTarget):
    """Exports an `.mlpackage` for Core ML: the recipe's weights, float16 between them, the lengths as functions."""

    name = "coreml"
    measured_by = "tflite"
    libraries = ("keras", "tensorflow", "coremltools")
    written = (COREML,)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        if importlib.util.find_spec("coremltools") is None:
            command = install_command("accelerators")
            return f"it needs the Python package coremltools, which is not installed: {command}"
        return None

    @property
    def takes_any_model(self) -> bool:
        """True: only the package decides."""
        return True

    def lengths(self, source: ExportInputs) -> list[int]:
        return source.options.choose_lengths(source.task.max_length)

    def write(self, source: ExportInputs) -> None:
        from plugins.coreml.package import export_coreml

        self.check(source.task, source.recipe)
        task, lengths = source.task, self.lengths(source)
        export_coreml(
            task.network(),
            source.folder,
            lengths,
            source.quantization,
            output=task.output_name,
            description=f"{task.name.replace('_', ' ')} of texts of up to {task.max_length} tokens",
            metadata=describe_for_apps(task, lengths),
        )

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; interprets the file for the first rows, and counts the kinds of its operations."""
        from keras_bert.export.comparison import compare_answers
        from plugins.coreml.mil import count_operations

        rows = {name: values[:_ROWS] for name, values in sample.features.items()}
        measured = compare_answers(source, file, dataclasses.replace(sample, features=rows))
        return {**measured, "operations": count_operations(source.folder / file.name)}

    def describe(self, source: ExportInputs, file: ExportedFile) -> dict[str, Any]:
        recipe = None if source.recipe is None else RECIPES[source.recipe]
        block = None if recipe is None else recipe.block
        few = f"int4, one scale for {block} inputs of a unit" if block else "a palette of 16 numbers for each unit"
        weights = _WEIGHTS[16 if recipe is None else recipe.weight_bits].format(few)
        return {**super().describe(source, file), "weights": weights, "activations": "float16"}


def describe_for_apps(task: "Task", lengths: list[int]) -> dict[str, str]:
    """What an app has to know of a model, by name: texts, and other values as JSON."""
    settings = {"task": task.name, **task.settings(), "lengths": lengths}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in settings.items()
    }
