"""Measurements of files: the artifact holds one JSON file that `read` opens typed."""

from typing import NamedTuple

from components.dsl.artifact import RecordArtifact


class FileFootprint(NamedTuple):
    """The size of an exported file, and tokens of a full row, as text -> the time of one answer on one thread.

    `download_bytes` is the size after deflate.
    """

    bytes: int
    download_bytes: int
    milliseconds: dict[str, float]


class Latency(RecordArtifact[dict[str, FileFootprint]]):
    """`latency.json`: file -> its `FileFootprint`, {"bytes": ..., ..., "milliseconds": {"32": ..., "128": ...}}."""

    record_file = "latency.json"
