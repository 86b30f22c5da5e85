"""The shape of an encoder."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from keras_bert.checks import check
from keras_bert.variants.base import Variant
from keras_bert.variants.registry import read_variant

Activation = Literal["gelu_tanh", "gelu_erf", "relu"]

PoolerActivation = Literal["tanh", "gelu_tanh", "gelu_erf", "relu", "none"]

_ACTIVATIONS = get_args(Activation)
_POOLER_ACTIVATIONS = get_args(PoolerActivation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """What a person chooses of an encoder; the vocabulary and the data decide the rest.

    Attributes:
        num_layers: encoder blocks.
        hidden_size: width of the residual stream; without `attention_size` a multiple of `num_heads`.
        num_heads: attention heads a block.
        intermediate_size: width of the feed-forward layer; 4 x hidden_size in every released BERT.
        activation: of the feed-forward layer; Google's TF1 code uses the tanh form of GELU, Hugging Face
            the erf form.
        dropout: rate on the embeddings and on the output of each sub-layer (Devlin et al. 2019, A.2: 0.1).
        attention_dropout: rate on the attention probabilities (0.1 in the released configurations).
        initializer_range: standard deviation of the truncated normal initializer; 0.02 in the released code,
            which suits a width of 768; at a width of 128, 0.06 learnt faster (docs/log.md).
        embedding_size: width of the embeddings, if a projection to `hidden_size` follows them (Lan et al. 2020,
            section 3.1); None for BERT, which has none.
        shared_layers: whether one block does the work of all (Lan et al. 2020, section 3.1).
        num_segments: rows of the segment embedding; with one row it is added to all tokens alike, as in RoBERTa, with
            none there is no such embedding, as in DistilBERT. With less than two the model takes no `segment_ids`.
        position_offset: rows of the position embedding in front of that of the first token; 2 in RoBERTa.
        embedding_rank: columns of the table of pieces, if a product makes vectors of `embedding_size` of them (see
            `TokenEmbedding`); in BERT's graph alone. None for none.
        attention_size: width of all heads together, a multiple of `num_heads`; None for `hidden_size`. Less where heads
            were taken out of BERT's graph.
        variant: what the graph has that BERT's has not; None for BERT's.
    """

    num_layers: int
    hidden_size: int
    num_heads: int
    intermediate_size: int
    activation: Activation = "gelu_tanh"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    initializer_range: float = 0.02
    embedding_size: int | None = None
    shared_layers: bool = False
    num_segments: int = 2
    position_offset: int = 0
    embedding_rank: int | None = None
    attention_size: int | None = None
    variant: Variant | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for field in ("num_layers", "hidden_size", "num_heads", "intermediate_size"):
            check(owner, field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        for field in ("dropout", "attention_dropout"):
            check(owner, field, 0 <= getattr(self, field) < 1, "be in [0, 1)", getattr(self, field))
        check(owner, "activation", self.activation in _ACTIVATIONS, f"be one of {_ACTIVATIONS}", self.activation)
        check(owner, "initializer_range", self.initializer_range > 0, "be positive", self.initializer_range)
        for field in ("num_segments", "position_offset"):
            check(owner, field, getattr(self, field) >= 0, "not be negative", getattr(self, field))
        for field in ("embedding_size", "embedding_rank"):
            size = getattr(self, field)
            check(owner, field, size is None or size >= 1, "be at least 1", size)
        most, rank = self.embedding_size or self.hidden_size, self.embedding_rank
        check(owner, "embedding_rank", rank is None or rank < most, f"be below {most}, the width of the vectors", rank)
        field = "hidden_size" if self.attention_size is None else "attention_size"
        width = getattr(self, field)
        whole = width >= 1 and width % self.num_heads == 0
        check(owner, field, whole, f"be a multiple of num_heads={self.num_heads}", width)
        if self.variant is not None:
            for field in ("embedding_rank", "attention_size"):
                value = getattr(self, field)
                check(owner, field, value is None, "be left out with a variant", value)
            self.variant.check_shape(self)

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return (self.attention_size or self.hidden_size) // self.num_heads

    def encoder_config(self, vocabulary_size: int, max_length: int) -> "EncoderConfig":
        """The configuration of an encoder of this shape."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return EncoderConfig(**fields, vocabulary_size=vocabulary_size, max_length=max_length)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig(EncoderShape):
    """All that `build_encoder` needs.

    Attributes:
        vocabulary_size: rows of the token embedding.
        max_length: the longest sequence in tokens.
        pooler_activation: of the pooler; tanh in BERT. With `none` it has no weights: it gives the first token's state.
        pooler_dropout: rate on the first token's state before the pooler; 0 in BERT.
        layer_norm_epsilon: added to the variance (1e-12 in the released code).
    """

    vocabulary_size: int
    max_length: int = 512
    pooler_activation: PoolerActivation = "tanh"
    pooler_dropout: float = 0.0
    layer_norm_epsilon: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("vocabulary_size", "max_length"):
            check("EncoderConfig", field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        check("EncoderConfig", "pooler_dropout", 0 <= self.pooler_dropout < 1, "be in [0, 1)", self.pooler_dropout)
        known = self.pooler_activation in _POOLER_ACTIVATIONS
        rule = f"be one of {_POOLER_ACTIVATIONS}"
        check("EncoderConfig", "pooler_activation", known, rule, self.pooler_activation)
        epsilon = self.layer_norm_epsilon
        check("EncoderConfig", "layer_norm_epsilon", epsilon > 0, "be positive", epsilon)

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values; `from_dict` reads it."""
        return {**dataclasses.asdict(self), "variant": None if self.variant is None else self.variant.as_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What `as_dict` wrote.

        Raises:
            ValueError: a field breaks a rule.
        """
        return cls(**{**content, "variant": read_variant(content.get("variant"))})
