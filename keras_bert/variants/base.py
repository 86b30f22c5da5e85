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

    def check_shape(self, owner: str, shape: Any) -> None:
        """Looks at what the rest of an encoder's shape must be beside this kind; nothing, if a kind does not say.

        Args:
            owner: of the shape's fields, for messages.
            shape: the `EncoderShape`.

        Raises:
            ValueError: a field breaks a rule of this kind.
        """
