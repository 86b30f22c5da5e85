"""How good models are."""

from components.dsl.artifact import Artifact


class Scores(Artifact):
    """`scores.json`: what the models of several seeds reach on validation and test rows; `histories.jsonl`."""
