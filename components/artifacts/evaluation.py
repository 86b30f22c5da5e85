"""What was measured."""

from components.dsl.artifact import Artifact

METRICS_FILE = "metrics.json"
ANSWERS_FILE = "answers.json"


class Evaluation(Artifact):
    """`metrics.json`: a row a model, with its metrics over seeds, size and latency; see `components.evaluate`.

    `answers.json`: the worst answers of the shipped file to test rows, and how its confidences held.
    """
