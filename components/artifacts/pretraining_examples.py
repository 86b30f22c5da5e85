"""Rows to pre-train on."""

from components.dsl.artifact import Artifact


class PretrainingExamples(Artifact):
    """Rows to pre-train on: `{split}-{length}-*.tfrecord`, `features.json` and `statistics.json`.

    Rows are masked, or `features.json` says how to mask them anew each epoch.
    """
