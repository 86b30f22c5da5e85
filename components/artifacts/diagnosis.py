"""What rounding hurts."""

from components.dsl.artifact import Artifact

DIAGNOSIS_FILE = "diagnosis.json"


class Diagnosis(Artifact):
    """`diagnosis.json`: the recipe, scores before and after, a record a layer, and which of them to leave float."""
