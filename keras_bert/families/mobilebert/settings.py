"""Settings of MobileBERT (Sun et al. 2020)."""

from typing import Any, Literal

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass

Normalization = Literal["no_norm", "layer_norm"]


@validated_dataclass
class MobileBERT(Variant):
    """MobileBERT's settings: bottleneck blocks and trigram embeddings (Sun et al. 2020, section 3).

    Attributes:
        bottleneck_size: the width inside a block, a multiple of the encoder's `num_heads`.
        feed_forwards: the number of stacked feed-forward layers in a block (section 3.2).
        normalization: `no_norm` scales and shifts (section 3.3); `layer_norm` as in BERT and in MobileBERT's teacher.
        bottleneck_attention: True if queries, keys and values are computed from the narrow states of the block, as in
            MobileBERT tiny; otherwise queries and keys are computed from a second bottleneck, and values from the wide
            states (figure 1c).

    Examples:
        >>> MobileBERT(feed_forwards=2).normalization
        'no_norm'
    """

    kind: Literal["mobilebert"] = "mobilebert"
    bottleneck_size: pydantic.PositiveInt = 128
    feed_forwards: pydantic.PositiveInt = 4
    normalization: Normalization = "no_norm"
    bottleneck_attention: bool = False

    def check_shape(self, shape: Any) -> None:
        owner = type(shape).__name__
        is_multiple = self.bottleneck_size % shape.num_heads == 0
        rule = f"be a multiple of num_heads={shape.num_heads}"
        check(owner, "variant.bottleneck_size", is_multiple, rule, self.bottleneck_size)
        # The output matrix of the masked-token head is the token embedding with extra columns.
        size = shape.embedding_size
        narrow = size is not None and size < shape.hidden_size
        rule = f"be set and below hidden_size={shape.hidden_size} in a bottleneck encoder"
        check(owner, "embedding_size", narrow, rule, size)
        check(owner, "shared_layers", not shape.shared_layers, "be False in a bottleneck encoder", shape.shared_layers)
