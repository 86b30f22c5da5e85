"""Whether a model may be pushed."""

from components.dsl.artifact import Artifact


class Blessing(Artifact):
    """`blessing.json`: {"blessed": true, "reasons": [...]}."""
