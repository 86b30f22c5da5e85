"""How long files take to answer."""

from components.dsl.artifact import Artifact

LATENCY_FILE = "latency.json"


class Latency(Artifact):
    """`latency.json`: file -> {"bytes": ..., "milliseconds": {"32": ..., "128": ...}}, on one thread, by tokens."""
