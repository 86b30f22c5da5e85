"""Labelled rows."""

from components.dsl.artifact import Artifact


class TaskExamples(Artifact):
    """Labelled rows: `{split}.tfrecord`, as they were read in `{split}.jsonl.gz`, `features.json` and `labels.json`.

    Splits are train, validation and test; there are labels where the task has some.
    """

    format_version = 2
