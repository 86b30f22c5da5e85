"""LiteRT: a `.tflite` file in float32, and a `.tflite` file that is quantized by the recipe."""

from typing import TYPE_CHECKING

from keras_bert.export.files import LITERT, LITERT_FLOAT, ExportedFile
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters


class LiteRT(ExportTarget):
    """Exports `.tflite` files for LiteRT with token ids as inputs, and a signature for each length."""

    name = "tflite"
    libraries = ("keras", "tensorflow", "ai-edge-quantizer")

    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        """See `ExportTarget`."""
        return (LITERT_FLOAT,) if quantization is None else (LITERT, LITERT_FLOAT)

    def lengths(self, source: ExportInputs) -> list[int]:
        """See `ExportTarget`."""
        return source.options.choose_lengths(source.task.max_length)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """See `ExportTarget`."""
        return traits.copy_obstacle or None

    @property
    def takes_any_model(self) -> bool:
        """True: only `copy_obstacle` decides, for which no other property has to be read."""
        return True

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        from keras_bert.export.quantized import export_quantized

        network, lengths, output = source.task.network(), self.lengths(source), source.task.output_name
        for file in self.files(source.quantization):
            quantization = source.quantization if file is LITERT else None
            path = source.folder / file.name
            export_quantized(network, path, lengths, quantization, source.calibration_rows, output=output)
