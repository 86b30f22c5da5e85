"""What all kinds of graphs have in common."""

import dataclasses
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Variant:
    """What the graph of an encoder has that BERT's has not; a kind is a subclass.

    Attributes:
        kind: the name of the kind, a key of `VARIANTS`.
    """

    kind: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """The fields with `kind`, as plain values; `variants.registry.read_variant` reads it."""
        return {"kind": self.kind, **dataclasses.asdict(self)}
