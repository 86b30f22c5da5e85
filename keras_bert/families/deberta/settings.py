"""Settings of DeBERTa (He et al. 2021, 2023)."""

from typing import Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass

ConvolutionActivation = Literal["tanh", "gelu_tanh", "gelu_erf", "relu"]


@validated_dataclass
class DeBERTa(Variant):
    """DeBERTa's settings: disentangled attention, the sum of up to three kinds of attention scores.

    The scores are content to content, content to position and position to content (He et al. 2021, equation 4). The
    defaults are those of DeBERTa v3's checkpoints.

    Attributes:
        max_distance: the largest distance in tokens with a separate relative position.
        position_buckets: the number of relative positions in each direction. Half of them contain one distance each,
            the others ranges of distances that grow exponentially (released code of version 2). 0 for one position for
            each distance up to `max_distance`, as in version 1.
        content_to_position: whether scores of queries and the relative positions of keys are added.
        position_to_content: whether scores of keys and the relative positions of queries are added.
        shared_projections: whether relative positions share the projections of the tokens (since version 2).
        normalized_positions: whether LayerNorm is applied to the embeddings of relative positions (since version 2).
        key_bias: whether the projections of keys have a bias (since version 2).
        absolute_positions: whether absolute positions are added to the embeddings, as in BERT.
        convolution: the window in tokens of a convolution parallel to the first block, an odd number; 0 for none. It is
            3 in the two largest checkpoints of version 2.
        convolution_activation: the activation of that convolution.

    Examples:
        >>> DeBERTa().span, DeBERTa().terms
        (256, 3)
    """

    kind: Literal["deberta"] = "deberta"
    max_distance: pydantic.PositiveInt = 512
    position_buckets: pydantic.NonNegativeInt = 256
    content_to_position: bool = True
    position_to_content: bool = True
    shared_projections: bool = True
    normalized_positions: bool = True
    key_bias: bool = True
    absolute_positions: bool = False
    convolution: pydantic.NonNegativeInt = 0
    convolution_activation: ConvolutionActivation = "gelu_erf"

    @pydantic.model_validator(mode="after")
    def _check_positions(self) -> Self:
        owner, buckets = "DeBERTa", self.position_buckets
        check(owner, "position_buckets", buckets == 0 or buckets >= 4, "be 0 or at least 4", buckets)
        # Otherwise the logarithmic buckets are empty, and the denominator in `relative_positions` is not positive.
        fits = buckets == 0 or self.max_distance > buckets // 2 + 1
        rule = f"be larger than half of position_buckets={buckets} and 1"
        check(owner, "max_distance", fits, rule, self.max_distance)
        has_positions = self.content_to_position or self.position_to_content
        check(owner, "content_to_position", has_positions, "be true where position_to_content is not", False)
        odd = self.convolution == 0 or self.convolution % 2 == 1
        check(owner, "convolution", odd, "be 0 or an odd number", self.convolution)
        return self

    @property
    def span(self) -> int:
        """The number of relative positions in each direction; the table has twice as many rows."""
        return self.position_buckets or self.max_distance

    @property
    def terms(self) -> int:
        """The number of kinds of scores; their sum is scaled by 1 / sqrt(head_size x terms)."""
        return 1 + self.content_to_position + self.position_to_content
