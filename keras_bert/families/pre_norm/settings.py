"""Settings of encoders with a LayerNorm before each sublayer."""

from typing import Literal

from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class PreNorm(Variant):
    """Settings of BERT with pre-norm blocks: x + sub-layer(LayerNorm(x)), and a LayerNorm after the last block.

    Attributes:
        embeddings_norm: whether LayerNorm is also applied to the embeddings, as in RoBERTa-PreLayerNorm (Wettig et al.
            2023) and unlike Megatron-BERT (Shoeybi et al. 2019, figure 7).
    """

    kind: Literal["pre_norm"] = "pre_norm"
    embeddings_norm: bool = True
