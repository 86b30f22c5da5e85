"""The artifact of a comparison: the cost of a pre-training step."""

from collections.abc import Sequence
from typing import NamedTuple

from components.dsl.artifact import RecordArtifact


class LengthCost(NamedTuple):
    """The cost of a pre-training step on rows of one length: operations, and seconds, None if it was not timed."""

    length: int
    flops: int
    seconds: float | None = None


class PretrainingStepCosts(NamedTuple):
    """The cost of a pre-training step, and the mean bytes of a predicted token, which make vocabularies comparable."""

    lengths: Sequence[LengthCost]
    bytes_an_entry: float


class StepCost(RecordArtifact[PretrainingStepCosts]):
    """`cost.json`: {"lengths": [{"length": 64, "flops": ..., "seconds": ...}, ...], "bytes_an_entry": ...}."""

    record_file = "cost.json"
