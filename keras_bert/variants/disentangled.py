"""DeBERTa: attention to words and, apart from that, to where they stand (He et al. 2021, 2023)."""

import dataclasses
from typing import ClassVar, Literal, get_args

from keras_bert.checks import check
from keras_bert.variants.base import Variant

ConvolutionActivation = Literal["tanh", "gelu_tanh", "gelu_erf", "relu"]

_ACTIVATIONS = get_args(ConvolutionActivation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Disentangled(Variant):
    """Scores of attention are sums: of content to content, of content to position, of position to content.

    The defaults are those of DeBERTa v3's checkpoints; the formula is equation 4 of He et al. 2021.

    Attributes:
        max_distance: tokens; all that are further away share the last relative position.
        position_buckets: relative positions in each direction: half of them hold one distance each, the others, further
            away, more and more of them, by the logarithm (released code of version 2); 0 for one position for each
            distance up to `max_distance`, as in version 1.
        content_to_position: whether a query is compared with the relative position of each key.
        position_to_content: whether a key is compared with the relative position of each query.
        shared_projections: whether relative positions go through the projections of the tokens (version 2 on).
        normalized_positions: whether the table of relative positions goes through LayerNorm (version 2 on).
        key_bias: whether the projections to keys have a bias (version 2 on).
        absolute_positions: whether the embeddings hold absolute positions as well, as BERT's.
        convolution: tokens that a convolution beside the first block sees at once, an odd number; 0 for none. 3 in the
            two largest checkpoints of version 2.
        convolution_activation: of that convolution.
    """

    kind: ClassVar[str] = "disentangled"

    max_distance: int = 512
    position_buckets: int = 256
    content_to_position: bool = True
    position_to_content: bool = True
    shared_projections: bool = True
    normalized_positions: bool = True
    key_bias: bool = True
    absolute_positions: bool = False
    convolution: int = 0
    convolution_activation: ConvolutionActivation = "gelu_erf"

    def __post_init__(self) -> None:
        owner, buckets = "Disentangled", self.position_buckets
        check(owner, "max_distance", self.max_distance >= 1, "be at least 1", self.max_distance)
        check(owner, "position_buckets", buckets == 0 or buckets >= 4, "be 0 or at least 4", buckets)
        # Else no distance is left for the buckets, and the logarithm of their ratio is not positive.
        fits = buckets == 0 or self.max_distance > buckets // 2 + 1
        rule = f"be larger than half of position_buckets={buckets} and 1"
        check(owner, "max_distance", fits, rule, self.max_distance)
        compared = self.content_to_position or self.position_to_content
        check(owner, "content_to_position", compared, "be true where position_to_content is not", False)
        odd = self.convolution == 0 or (self.convolution > 0 and self.convolution % 2 == 1)
        check(owner, "convolution", odd, "be 0 or an odd number", self.convolution)
        known = self.convolution_activation in _ACTIVATIONS
        rule = f"be one of {_ACTIVATIONS}"
        check(owner, "convolution_activation", known, rule, self.convolution_activation)

    @property
    def span(self) -> int:
        """Relative positions in each direction; the table has twice as many rows."""
        return self.position_buckets or self.max_distance

    @property
    def terms(self) -> int:
        """Scores that are added up; the scale of all of them is 1 / sqrt(head_size x terms)."""
        return 1 + self.content_to_position + self.position_to_content
