"""The configuration of an encoder."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import ShareBelowOne, validated_dataclass

Activation = Literal["gelu_tanh", "gelu_erf", "relu", "silu"]

PoolerActivation = Literal["tanh", "gelu_tanh", "gelu_erf", "relu", "silu", "none"]


@validated_dataclass
class Variant:
    """The base class of the settings of families whose graph differs from BERT's, such as `Longformer`.

    Attributes:
        kind: the unique name of the graph.
        prediction_head: whether every head begins with a `PredictionHead` without biases.
        span_head: whether the head for question answering begins with a feed-forward layer.
        depends_on_padding: whether the outputs of a row depend on the amount of its padding.
    """

    kind: str
    prediction_head: ClassVar[bool] = False
    span_head: ClassVar[bool] = False
    depends_on_padding: ClassVar[bool] = False

    def check_shape(self, shape: "EncoderShape") -> None:
        """Checks that the other settings of the encoder are compatible with the variant.

        Raises:
            ValueError: a setting is not compatible with the variant.
        """

    def of_layers(self, layers: Sequence[int]) -> Self:
        """The settings of an encoder with some of the layers, by their indices in the order of the new encoder."""
        return self

    def of_tokens(self, numbers: Mapping[int, int]) -> Self:
        """The settings of an encoder with some of the tokens: their ids before -> those in the new vocabulary."""
        return self

    def _check_fixed(self, shape: "EncoderShape", **fixed: Any) -> None:
        for field, expected in fixed.items():
            value = getattr(shape, field)
            rule = f"be {expected!r} with the variant {self.kind!r}"
            check(type(shape).__name__, field, value == expected, rule, value)


@validated_dataclass
class EncoderShape:
    """The architecture of an encoder, without the fields of `EncoderConfig` that depend on vocabulary and data.

    Attributes:
        num_layers: number of encoder blocks.
        hidden_size: width of the residual stream; without `attention_size` a multiple of `num_heads`.
        num_heads: number of attention heads in a block.
        intermediate_size: width of the feed-forward layer; 4 x hidden_size in every released BERT.
        activation: activation of the feed-forward layer; Google's TF1 code uses the tanh form of GELU, Hugging Face
            the erf form.
        dropout: dropout rate, 0 to below 1, on the embeddings and on the output of each sub-layer (Devlin et al. 2019,
            A.2: 0.1).
        attention_dropout: dropout rate, 0 to below 1, on the attention probabilities (0.1 in the released
            configurations).
        initializer_range: standard deviation of the truncated normal initializer, above 0. The released code has 0.02,
            which suits a width of 768; a model of width 128 learnt faster with 0.06 (docs/log.md).
        embedding_size: width of the embeddings, if a projection to `hidden_size` follows them (Lan et al. 2020,
            section 3.1); None for BERT, which has none.
        shared_layers: whether all blocks share their weights (Lan et al. 2020, section 3.1).
        num_segments: rows of the segment embedding; 1 adds the same row to all tokens, as in RoBERTa; 0 for no segment
            embedding, as in DistilBERT. With fewer than two rows the model has no input `segment_ids`.
        position_offset: index of the first token's row in the position embedding; 2 in RoBERTa.
        embedding_rank: rank of a factorized token embedding (see `TokenEmbedding`), only in BERT's graph; None for an
            embedding that is not factorized.
        attention_size: total width of the heads, a multiple of `num_heads`; None for `hidden_size`. Pruning heads makes
            it smaller (only in BERT's graph).
        variant: settings of a graph that differs from BERT's; None for BERT's graph.
    """

    num_layers: pydantic.PositiveInt
    hidden_size: pydantic.PositiveInt
    num_heads: pydantic.PositiveInt
    intermediate_size: pydantic.PositiveInt
    activation: Activation = "gelu_tanh"
    dropout: ShareBelowOne = 0.1
    attention_dropout: ShareBelowOne = 0.1
    initializer_range: pydantic.PositiveFloat = 0.02
    embedding_size: pydantic.PositiveInt | None = None
    shared_layers: bool = False
    num_segments: pydantic.NonNegativeInt = 2
    position_offset: pydantic.NonNegativeInt = 0
    embedding_rank: pydantic.PositiveInt | None = None
    attention_size: pydantic.PositiveInt | None = None
    variant: Variant | None = None

    @pydantic.model_validator(mode="after")
    def _check_shape(self) -> Self:
        owner = type(self).__name__
        most, rank = self.embedding_size or self.hidden_size, self.embedding_rank
        check(owner, "embedding_rank", rank is None or rank < most, f"be below {most}, the width of the vectors", rank)
        field = "hidden_size" if self.attention_size is None else "attention_size"
        width = getattr(self, field)
        check(owner, field, width % self.num_heads == 0, f"be a multiple of num_heads={self.num_heads}", width)
        if self.variant is not None:
            for field in ("embedding_rank", "attention_size"):
                value = getattr(self, field)
                check(owner, field, value is None, "be left out with a variant", value)
            self.variant.check_shape(self)
        return self

    @property
    def head_size(self) -> int:
        """The width of an attention head."""
        return (self.attention_size or self.hidden_size) // self.num_heads

    def encoder_config(self, vocabulary_size: int, max_length: int) -> "EncoderConfig":
        """The configuration of an encoder of this shape."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return EncoderConfig(**fields, vocabulary_size=vocabulary_size, max_length=max_length)


@validated_dataclass
class EncoderConfig(EncoderShape):
    """The configuration of an encoder, from which `build_encoder` builds it.

    Attributes:
        vocabulary_size: the number of rows of the token embedding.
        max_length: the length of the longest input in tokens.
        pooler_activation: the activation of the pooler; tanh in BERT. With `none` the pooler has no weights and returns
            the state of the first token.
        pooler_dropout: the dropout rate before the pooler; 0 in BERT.
        layer_norm_epsilon: a number added to the variance (1e-12 in the released code).

    Examples:
        >>> shape = {"num_layers": 4, "hidden_size": 256, "num_heads": 4, "intermediate_size": 1024}
        >>> config = EncoderConfig(**shape, vocabulary_size=30522)
        >>> config.head_size, config.max_length
        (64, 512)
        >>> EncoderConfig.from_dict(config.as_dict()) == config
        True
    """

    vocabulary_size: pydantic.PositiveInt
    max_length: pydantic.PositiveInt = 512
    pooler_activation: PoolerActivation = "tanh"
    pooler_dropout: ShareBelowOne = 0.0
    layer_norm_epsilon: pydantic.PositiveFloat = 1e-12

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values, which `from_dict` reads."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The configuration that `as_dict` wrote.

        A variant is read as the imported subclass of `Variant` with its `kind`; `keras_bert.families.registry` imports
        all of them.
        """
        fields = content.get("variant")
        if fields is None:
            return cls(**content)
        subclasses: dict[Any, Any] = {subclass.kind: subclass for subclass in Variant.__subclasses__()}
        kind = fields.get("kind")
        check("Variant", "kind", kind in subclasses, f"be one of {list(subclasses)}", kind)
        # JSON turns tuples into lists.
        variant = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        return cls(**{**content, "variant": subclasses[kind](**variant)})
