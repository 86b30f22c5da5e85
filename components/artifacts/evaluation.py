"""What was measured."""

from components.dsl.artifact import Artifact


class Evaluation(Artifact):
    """`metrics.json`: a row a model, with its metrics over seeds, size and latency; see `components.evaluate`."""
