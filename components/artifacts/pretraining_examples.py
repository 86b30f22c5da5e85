"""Rows to pre-train on."""

from components.dsl.artifact import Artifact


class PretrainingExamples(Artifact):
    """Rows to pre-train on: `{split}-{length}-*.tfrecord`, `features.json`, `statistics.json` and `samples.json`.

    Rows are masked, or `features.json` says how to mask them anew each epoch.
    """
