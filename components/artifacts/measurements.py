"""Measurements of files, steps and models: each artifact holds one JSON file that `read` opens typed."""

from collections.abc import Sequence
from typing import NamedTuple

from components.dsl.artifact import RecordArtifact


class FileFootprint(NamedTuple):
    """The size and the speed of an exported file.

    Attributes:
        milliseconds: tokens of a full row, as text -> the time of one answer on one thread.
    """

    bytes: int
    milliseconds: dict[str, float]


class Latency(RecordArtifact[dict[str, FileFootprint]]):
    """`latency.json`: file -> {"bytes": ..., "milliseconds": {"32": ..., "128": ...}}, on one thread, by tokens."""

    record_file = "latency.json"


class LengthCost(NamedTuple):
    """The cost of a pre-training step on rows of one length: operations, and seconds, None if it was not timed."""

    length: int
    flops: int
    seconds: float | None = None


class PretrainingStepCosts(NamedTuple):
    """The cost of a pre-training step.

    Attributes:
        bytes_an_entry: the mean bytes of the tokens that are predicted in validation: by them, losses of several
            vocabularies can be given in one unit.
    """

    lengths: Sequence[LengthCost]
    bytes_an_entry: float


class StepCost(RecordArtifact[PretrainingStepCosts]):
    """`cost.json`: {"lengths": [{"length": 64, "flops": ..., "seconds": ...}, ...], "bytes_an_entry": ...}."""

    record_file = "cost.json"
