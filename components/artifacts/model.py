"""A trained model."""

from components.dsl.artifact import Artifact


class Model(Artifact):
    """`model.keras`, the tokenizer's files beside it, and `task.json` (what the model was trained for)."""
