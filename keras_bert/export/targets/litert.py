"""LiteRT: `.tflite` files with token ids or text as inputs."""

from typing import TYPE_CHECKING, Any

from keras_bert.export.files import LITERT, LITERT_FLOAT, TEXT, ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
from keras_bert.export.targets.base import ExportTarget, ModelTraits

if TYPE_CHECKING:
    from keras_bert.compress.quantization_parameters import QuantizationParameters


class LiteRT(ExportTarget):
    """Exports `.tflite` files for LiteRT with token ids as inputs, and a signature for each length."""

    name = "tflite"
    libraries = ("keras", "tensorflow", "ai-edge-quantizer")

    def files(self, quantization: "QuantizationParameters | None") -> tuple[ExportedFile, ...]:
        return (LITERT_FLOAT,) if quantization is None else (LITERT, LITERT_FLOAT)

    def lengths(self, source: ExportInputs) -> list[int]:
        return source.options.choose_lengths(source.task.max_length)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        return traits.copy_obstacle or None

    @property
    def takes_any_model(self) -> bool:
        """True: only `copy_obstacle` decides, for which no other property has to be read."""
        return True

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.quantized import export_quantized

        network, lengths, output = source.task.network(), self.lengths(source), source.task.output_name
        for file in self.files(source.quantization):
            quantization = source.quantization if file is LITERT else None
            path = source.folder / file.name
            export_quantized(network, path, lengths, quantization, source.calibration_rows, output=output)


class LiteRTText(ExportTarget):
    """Exports a `.tflite` file for LiteRT with text as input: the tokenizer is part of the graph."""

    name = "tflite_text"
    measured_by = "tflite"
    libraries = ("keras", "tensorflow", "ai-edge-quantizer", "tensorflow-text")
    written = (TEXT,)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        if traits.task_class is not None and traits.task_class.marks_rows:
            return f"the file makes rows without the tokens that {traits.task} adds to queries and passages"
        if traits.other_tokenizer:
            return f"tensorflow-text's operations in the file make WordPiece tokens, got {traits.other_tokenizer}"
        if needs_calibration_rows(traits.recipe):
            return (
                f"activation ranges are measured on token ids, not behind a tokenizer, got the recipe {traits.recipe}"
            )
        return None

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.text import export_text

        self.check(source.task, source.recipe)
        export_text(source.task, source.folder / TEXT.name, source.quantization)

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; compares the file with that for token ids, which has the same weights."""
        from keras_bert.export.sample_texts import TEXTS
        from keras_bert.export.text import check_text

        path = source.folder / file.name
        reference = source.folder / (LITERT_FLOAT if source.quantization is None else LITERT).name
        difference = check_text(source.task, path, reference, TEXTS)
        return {"largest_difference": float(f"{difference:.1e}"), "bytes": path.stat().st_size}
