"""MediaPipe Tasks: a `.tflite` file with the vocabulary and the settings of the tokenizer in its metadata."""

import logging
from typing import Any

from keras_bert.core.checks import broken_label_rule
from keras_bert.export.files import MEDIAPIPE, ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits

# Text tasks of MediaPipe, which take single texts.
TASKS = ("classification", "multi_label", "embedding", "retrieval")

# The entry in `export.json`.
OTHER_IDS = "texts_with_other_ids"

logger = logging.getLogger(__name__)


class MediaPipe(ExportTarget):
    """Exports a `.tflite` file for MediaPipe's text classifier or text embedder."""

    name = "mediapipe"
    measured_by = "tflite"
    libraries = ("keras", "tensorflow", "ai-edge-quantizer")
    written = (MEDIAPIPE,)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        has_pairs = traits.task in ("classification", "multi_label") and traits.pairs
        if traits.task not in (None, *TASKS) or has_pairs:
            task = f"{traits.task} of pairs" if has_pairs else traits.task
            return f"MediaPipe has classification of single texts and embedding, got {task}"
        if traits.other_tokenizer:
            return f"MediaPipe makes lowercased WordPiece tokens, got {traits.other_tokenizer}"
        if traits.lowercase is False:
            return "MediaPipe makes lowercased WordPiece tokens, got a vocabulary with upper case"
        if traits.has_segments is False:
            return "MediaPipe passes segment_ids, got a model that takes none"
        for label in traits.labels:
            if (rule := broken_label_rule(label)) is not None:
                return f"MediaPipe reads labels of one line each: a label must {rule}, got {label!r}"
        return None

    def write(self, source: ExportInputs) -> None:
        from keras_bert.export.mediapipe import export_mediapipe

        self.check(source.task, source.recipe)
        export_mediapipe(source.task, source.folder / MEDIAPIPE.name, source.quantization, source.calibration_rows)

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; also measures the share of texts with other token ids in MediaPipe than in training."""
        from keras_bert.export.comparison import compare_answers
        from keras_bert.export.mediapipe_text import measure_other_ids

        measured = compare_answers(source, file, sample)
        share = measure_other_ids(source.task.tokenizer, sample.read_texts())
        if share:
            logger.warning("%s", describe_other_ids(share))
        return {**measured, OTHER_IDS: share}


def describe_other_ids(share: float) -> str:
    """The warning about the share of validation texts, above 0, that get other token ids in MediaPipe."""
    return (
        f"MediaPipe makes other token ids of {100 * share:.1f} % of validation texts than the training did, as it "
        "keeps accents; see docs/guides/phones.md"
    )
