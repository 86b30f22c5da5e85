"""Labelled rows."""

from components.dsl.artifact import Artifact


class TaskExamples(Artifact):
    """Labelled rows: `train.tfrecord`, `validation.tfrecord`, `test.tfrecord`, `features.json`, `labels.json`.

    Regression and questions have no labels; `{split}.jsonl.gz` holds the originals of tagged words and questions.
    """
