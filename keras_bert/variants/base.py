"""What all kinds of graphs have in common."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from keras_bert.checks import check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Variant:
    """What the graph of an encoder has that BERT's has not; a kind is a subclass.

    Attributes:
        kind: the name of the kind, a key of `VARIANTS`.
        prediction_head: whether every head begins with a `PredictionHead` without biases.
        span_head: whether the head for answers begins with a feed-forward layer of its own.
        depends_on_padding: whether the answer to a row depends on how far it is padded.
    """

    kind: ClassVar[str]
    prediction_head: ClassVar[bool] = False
    span_head: ClassVar[bool] = False
    depends_on_padding: ClassVar[bool] = False

    def as_dict(self) -> dict[str, Any]:
        """The fields with `kind`, as plain values; `variants.registry.read_variant` reads it."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    def check_shape(self, shape: Any) -> None:
        """Looks whether the other settings of an encoder, an `EncoderShape`, go with the kind.

        Raises:
            ValueError: one does not.
        """

    def of_layers(self, layers: Sequence[int]) -> Self:
        """The settings of an encoder made of some of the layers, counted from 0."""
        return self

    def _check_fixed(self, shape: Any, **fixed: Any) -> None:
        for field, value in fixed.items():
            found = getattr(shape, field)
            rule = f"be {value!r} with the variant {self.kind!r}"
            check(type(shape).__name__, field, found == value, rule, found)
