"""Measurements of files: the artifact holds one JSON file that `read` opens typed."""

from typing import NamedTuple

from components.dsl.artifact import RecordArtifact


class FileFootprint(NamedTuple):
    """The size of an exported file, and tokens of a full row, as text -> the time of one answer on one thread."""

    bytes: int
    milliseconds: dict[str, float]


class Latency(RecordArtifact[dict[str, FileFootprint]]):
    """`latency.json`: file -> {"bytes": ..., "milliseconds": {"32": ..., "128": ...}}, on one thread, by tokens."""

    record_file = "latency.json"
