"""MobileBERT's graph."""

import dataclasses
from typing import Any, ClassVar, Literal, get_args

from keras_bert.checks import check
from keras_bert.variants.base import Variant

Normalization = Literal["no_norm", "layer_norm"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bottleneck(Variant):
    """Blocks narrower inside than between them, over embeddings of three neighbours (Sun et al. 2020, section 3).

    Attributes:
        bottleneck_size: width inside a block, a multiple of the encoder's `num_heads`.
        feed_forwards: feed-forward layers of a block, one upon the other (section 3.2).
        normalization: `no_norm` scales and shifts (section 3.3); `layer_norm` is BERT's, as in MobileBERT's teacher.
        bottleneck_attention: whether attention reads the narrow states alone, as in MobileBERT tiny; else its query
            and key read narrow states of their own, and its value the wide ones (figure 1c).
    """

    kind: ClassVar[str] = "bottleneck"

    bottleneck_size: int = 128
    feed_forwards: int = 4
    normalization: Normalization = "no_norm"
    bottleneck_attention: bool = False

    def __post_init__(self) -> None:
        for field in ("bottleneck_size", "feed_forwards"):
            check("Bottleneck", field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        known = get_args(Normalization)
        check("Bottleneck", "normalization", self.normalization in known, f"be one of {known}", self.normalization)

    def check_shape(self, shape: Any) -> None:
        """See `Variant.check_shape`."""
        owner = type(shape).__name__
        whole = self.bottleneck_size % shape.num_heads == 0
        rule = f"be a multiple of num_heads={shape.num_heads}"
        check(owner, "variant.bottleneck_size", whole, rule, self.bottleneck_size)
        # The output matrix of the masked-token head is the token embedding and columns of its own beside it.
        size = shape.embedding_size
        narrow = size is not None and size < shape.hidden_size
        rule = f"be set and below hidden_size={shape.hidden_size} in a bottleneck encoder"
        check(owner, "embedding_size", narrow, rule, size)
        check(owner, "shared_layers", not shape.shared_layers, "be False in a bottleneck encoder", shape.shared_layers)
