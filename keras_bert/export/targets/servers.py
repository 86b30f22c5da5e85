"""Servers: a SavedModel for TensorFlow Serving."""

from typing import Any

from keras_bert.export.files import SAVED_MODEL, ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget


class TensorFlowServing(ExportTarget):
    """Exports a SavedModel for TensorFlow Serving, with text as input where the tokenizer is WordPiece."""

    name = "saved_model"
    libraries = ("keras", "tensorflow", "tensorflow-text")
    written = (SAVED_MODEL,)

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.saved_model import export_saved_model

        export_saved_model(source.task, source.folder)

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; also compares what the file answers to texts."""
        from keras_bert.export.comparison import compare_answers
        from keras_bert.export.sample_texts import TEXTS
        from keras_bert.export.saved_model import check_saved_model
        from keras_bert.models.encoder import config_of

        measured = compare_answers(source, file, sample)
        variant = config_of(source.task.model).variant
        if variant is not None and variant.depends_on_padding:
            return measured  # batches of texts are padded otherwise here than by `predict`
        difference = check_saved_model(source.task, source.folder / file.name, TEXTS)
        return {**measured, "largest_difference_of_texts": float(f"{difference:.1e}")}
