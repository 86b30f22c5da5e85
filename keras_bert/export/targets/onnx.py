"""ONNX: one float32 file for ONNX Runtime, and a Hugging Face folder in several number formats for transformers.js."""

from typing import TYPE_CHECKING, TypeGuard

from keras_bert.export.files import ONNX, WEB, WEB_HALF, WEB_INT8, WEB_STATIC, ExportedFile
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits
from keras_bert.families.hugging_face import TASK_NAMES
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters


class OnnxRuntime(ExportTarget):
    """Exports an `.onnx` file for ONNX Runtime with token ids as inputs."""

    name = "onnx"
    libraries = ("keras", "tensorflow", "tf2onnx", "onnx")
    written = (ONNX,)

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.onnx import export_onnx

        path, output = source.folder / ONNX.name, source.task.output_name
        export_onnx(source.task.network(), path, output=output, opset=source.options.opset)


class TransformersJs(ExportTarget):
    """Exports a folder for transformers.js and Optimum."""

    name = "transformers_js"
    measured_by = "onnx"
    libraries = ("keras", "tensorflow", "tf2onnx", "onnx", "onnxruntime")

    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        return (WEB, WEB_HALF, WEB_INT8, *((WEB_STATIC,) if has_int8_ranges(quantization) else ()))

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        kind = traits.task_class
        if kind is not None and (kind.library_task or kind.name) not in TASK_NAMES:
            return f"its configuration names a task that other libraries have, which {traits.task} is not"
        if traits.variant == "bigbird":
            return "bigbird's graph chooses between two branches, which have no float16"
        if traits.task == "question_answering" and traits.has_segments and traits.tokenizer not in (None, "wordpiece"):
            return (
                "transformers.js makes token_type_ids, which tell question and context apart, for WordPiece alone, "
                f"got a {traits.tokenizer} tokenizer"
            )
        return None

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.transformers_js import export_transformers_js

        self.check(source.task, source.recipe)
        ranges = source.quantization.ranges if has_int8_ranges(source.quantization) else None
        export_transformers_js(source.task, source.folder, source.options.opset, ranges)


def has_int8_ranges(quantization: "QuantizationParameters | None") -> "TypeGuard[QuantizationParameters]":
    """True if training learned ranges of int8 activations."""
    return quantization is not None and bool(quantization.ranges) and RECIPES[quantization.recipe].has_int8_ranges
