"""Rows of plain text."""

from components.dsl.artifact import Artifact


class TextExamples(Artifact):
    """Rows without labels: `train.tfrecord`, `validation.tfrecord` and `features.json`."""
