"""What was measured."""

from components.dsl.artifact import Artifact


class Evaluation(Artifact):
    """`metrics.json`: one row a model, with accuracy, macro F1, confusion, size and latency."""
