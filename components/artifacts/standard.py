"""The artifacts that most steps read or write: texts, vocabularies, rows, models and their files."""

from typing import Any, NamedTuple

from components.dsl.artifact import Artifact, RecordArtifact
from keras_bert.core.folders import FEATURES_FILE


class Corpus(Artifact):
    """Documents as gzip shards of JSON lines, `corpus-00000-of-00004.jsonl.gz`: {"id": ..., "text": ...}.

    Parts of a long document hold its id (`whole`), and `cut_documents.json` counts them. Dropped documents are in
    `dropped-*.jsonl.gz`, with the reason; `statistics.json` counts both.
    """


class Vocabulary(Artifact):
    """`vocab.txt`, one entry a line, and `tokenizer.json`.

    For WordPiece, `tokenizer.json` is {"lowercase": true}; for BPE and unigram, it has Hugging Face's format.
    """


class RecordFiles(Artifact):
    """Rows as TFRecords, and `features.json`, which says what the records hold."""

    def features(self) -> dict[str, Any]:
        """The content of `features.json`, see `keras_bert.data.records.write_features`."""
        content: dict[str, Any] = self.read_json(FEATURES_FILE)
        return content


class PretrainingExamples(RecordFiles):
    """Rows for pre-training: `{split}-{length}-*.tfrecord`, `features.json`, `statistics.json` and `samples.json`.

    Rows are masked already, or `features.json` says how to mask them again in each epoch.
    """


class RowSource(NamedTuple):
    """What later steps need to know of the source of labelled rows, so that none of them opens its files.

    Attributes:
        labels: the labels in the order of their numbers; empty for tasks without labels.
        fields: the fields of the source that say how its files are read, such as the names of columns.
        near_overlap_counts: the counts of rows with nearly the same texts in two splits.
        label_precision: see `LabelSetSource`; None for other tasks.
        has_teacher_answers: whether rows may have a teacher's answer.
    """

    task: str
    labels: list[str]
    fields: dict[str, Any]
    overlap: str
    near_overlap: str
    near_overlap_counts: dict[str, dict[str, int]]
    label_precision: float | None
    has_teacher_answers: bool


class LabelledRows(RecordArtifact[RowSource]):
    """Labelled rows of the user's files before they are tokenized: `{split}.jsonl.gz` and `source.json`.

    Splits are train, validation and test.
    """

    record_file = "source.json"


class RowOrigins(RecordArtifact[list[str]]):
    """Where each of `LabelledRows` comes from, in their order: `{split}.jsonl.gz`, and `columns.json`.

    Each line has file and line of a row and the columns that it keeps, see `components.sources.shared.RowOrigin`; the
    record are the columns that training rows keep, in the order of their table. Apart from the rows, as other columns
    change neither tokens nor models.
    """

    record_file = "columns.json"


class TaskExamples(RecordFiles):
    """Labelled rows: `{split}.tfrecord`, the original rows in `{split}.jsonl.gz`, `features.json` and `labels.json`.

    `schema.json` has properties of the training rows (`components.examples.row_schema.RowSchema`). Splits are train,
    validation and test; `labels.json` exists if the task has labels.
    """

    format_version = 2


class TextExamples(RecordFiles):
    """Rows without labels: `train.tfrecord`, `validation.tfrecord` and `features.json`."""


class Model(Artifact):
    """`model.keras`, the tokenizer's files beside it, and `task.json` (what the model was trained for)."""


class EdgeModel(Artifact):
    """Files for runtimes, `task.json`, the tokenizer's files, `golden.json` and `export.json`.

    The settings choose among `model.tflite` (quantized), `model_float32.tflite`, the folder `transformers_js` and
    others; `labels.json` exists if the task has labels.
    """
