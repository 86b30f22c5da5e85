"""ONNX Runtime: one float32 `.onnx` file for any batch and any length."""

from typing import TYPE_CHECKING

from keras_bert.export.files import ONNX, ExportedFile
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.base import ExportTarget

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters


class OnnxRuntime(ExportTarget):
    """Exports an `.onnx` file for ONNX Runtime with token ids as inputs."""

    name = "onnx"
    libraries = ("keras", "tensorflow", "tf2onnx", "onnx")

    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        """See `ExportTarget`."""
        return (ONNX,)

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        from keras_bert.export.onnx import export_onnx

        path, output = source.folder / ONNX.name, source.task.output_name
        export_onnx(source.task.network(), path, output=output, opset=source.options.opset)
