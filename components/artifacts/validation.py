"""How well a model does on validation rows."""

from components.dsl.artifact import Artifact

VALIDATION_FILE = "validation.json"


class Validation(Artifact):
    """`validation.json`: {"metric": ..., "score": ..., "rows": ...}; what decides before test rows are read."""
