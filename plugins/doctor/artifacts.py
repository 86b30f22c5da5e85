"""The artifact of the diagnosis of a quantization."""

from typing import Any, NamedTuple

from components.dsl.artifact import RecordArtifact


class DiagnosisReport(NamedTuple):
    """The effect of quantization on a float model, layer by layer, the largest gain of a float layer first.

    `distance` is that of all outputs; `fix` has the fewest layers that must stay float for an allowed loss, else None.
    """

    recipe: str
    metric: str
    rows: int
    score: dict[str, float]
    milliseconds: dict[str, float]
    distance: float
    layers: list[dict[str, Any]]
    fix: dict[str, Any] | None


class Diagnosis(RecordArtifact[DiagnosisReport]):
    """`diagnosis.json`: the recipe, scores before and after, a record a layer, and which layers to leave float."""

    record_file = "diagnosis.json"
