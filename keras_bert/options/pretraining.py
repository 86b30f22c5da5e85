"""Rows for pre-training, their masks, and the generator of replaced-token detection."""

import dataclasses
from typing import Annotated, Any, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.validation import OpenShare, PositiveShare, Share, validated_dataclass
from keras_bert.options.data import Compression

PairObjective = Literal["next_sentence", "sentence_order", "none"]


@validated_dataclass
class PretrainingRows:
    """Settings of the rows that documents are cut into for pre-training.

    Attributes:
        objective: the second objective beside masked tokens. `next_sentence`: segment B follows segment A or comes from
            another document (Devlin et al. 2019, section 3.1). `sentence_order`: two neighbouring segments, in order or
            swapped (Lan et al. 2020, section 3.1). `none`: one segment of full sentences, across documents
            (FULL-SENTENCES of Liu et al. 2019, section 4.2).
        short_share: share of the rows that aim at a random shorter length, 0 to 1; 0.1 is `short_seq_prob` of
            google-research/bert.
        short_length: length in tokens, at least 8, of additional short rows to train on first (Devlin et al. 2019,
            appendix A.2: 128, then 512); None writes only rows of `max_length`.
        dynamic: whether the reader masks other tokens in every epoch (Liu et al. 2019, section 4.1); otherwise tokens
            are masked once, when the rows are written.
        duplication: number of times that the training documents are paired and masked (`dupe_factor` of
            google-research/bert).
        held_out: share of the documents of each shard, above 0 and below 1, that goes to validation by the hash of
            their ids. All parts of a long document go to the same side, by the hash of its text.
        compression: compression of the record files.
    """

    objective: PairObjective = "next_sentence"
    short_share: Share = 0.1
    short_length: Annotated[int, pydantic.Field(ge=8)] | None = None
    dynamic: bool = False
    duplication: pydantic.PositiveInt = 1
    held_out: OpenShare = 0.05
    compression: Compression = "none"


Strategy = Literal["tokens", "whole_words", "spans"]


@validated_dataclass
class Masking:
    """Settings of the masking of a sequence (Devlin et al. 2019, section 3.1).

    Attributes:
        strategy: the unit of masking: `tokens` one by one, all tokens of `whole_words` (as in the whole word masking
            checkpoints of google-research/bert), or `spans` of words (Joshi et al. 2020, section 3.1).
        rate: share of the tokens to predict, above 0 and below 1; special tokens do not count.
        max_predictions: maximum number of predictions in a sequence; 20 for 128 tokens in the released code.
        mask_share: share of the chosen tokens that `[MASK]` replaces, 0 to 1.
        random_share: share of the chosen tokens that a random token replaces, 0 to 1; the rest stay as they are.
    """

    strategy: Strategy = "tokens"
    rate: OpenShare = 0.15
    max_predictions: pydantic.PositiveInt = 20
    mask_share: Share = 0.8
    random_share: Share = 0.1

    @pydantic.model_validator(mode="after")
    def _check_shares(self) -> Self:
        room = self.mask_share + self.random_share <= 1 + 1e-9
        check("Masking", "mask_share", room, f"leave room for random_share={self.random_share}", self.mask_share)
        return self

    def scaled(self, length: int, longest: int) -> "Masking":
        """The settings for rows of another length, with as many predictions a token as rows of `longest` tokens."""
        return dataclasses.replace(self, max_predictions=max(1, round(self.max_predictions * length / longest)))


Sharing = Literal["embeddings", "none", "gradient_disentangled"]

# Sizes that must not exceed the discriminator's; a generator may have more, narrower heads.
AT_MOST = ("num_layers", "hidden_size", "intermediate_size")


@validated_dataclass
class Generator:
    """Settings of the small encoder that predicts masked tokens, whose samples a discriminator has to detect.

    References are to Clark et al. 2020.

    Attributes:
        size: ratio of the generator's width, heads and intermediate width to the discriminator's, above 0 and at most
            1; the number of layers is the same (table 6: 1/4 for small and large, 1/3 for base; figure 3).
        num_layers: number of the generator's blocks; None for the discriminator's number.
        hidden_size: width of the generator; None for the ratio `size`. Heads and intermediate width follow its ratio
            unless they are set.
        num_heads: number of the generator's attention heads; None for the ratio.
        intermediate_size: width of the generator's feed-forward layer; None for the ratio.
        sharing: sharing of token and position embeddings. `embeddings`: both encoders read and train the
            discriminator's (section 3.2); where widths differ the generator projects them. `none`: two separate
            tables. `gradient_disentangled`: the discriminator reads the generator's, which its loss does not change,
            plus a learned difference (He et al. 2023, section 3.3).
        weight: weight of the discriminator's loss, above 0, beside 1 for the generator's loss (appendix A: 50).
    """

    size: PositiveShare = 0.25
    num_layers: pydantic.PositiveInt | None = None
    hidden_size: pydantic.PositiveInt | None = None
    num_heads: pydantic.PositiveInt | None = None
    intermediate_size: pydantic.PositiveInt | None = None
    sharing: Sharing = "embeddings"
    weight: pydantic.PositiveFloat = 50.0

    def config(self, discriminator: EncoderConfig) -> EncoderConfig:
        """The configuration of the generator's encoder beside a discriminator."""
        rank = discriminator.embedding_rank
        check("EncoderConfig", "embedding_rank", rank is None, "be left out with a generator", rank)
        share = self.size if self.hidden_size is None else self.hidden_size / discriminator.hidden_size
        heads = self.num_heads or max(1, round(discriminator.num_heads * share))
        sizes: dict[str, Any] = {
            "num_layers": self.num_layers or discriminator.num_layers,
            "hidden_size": self.hidden_size or heads * max(1, round(discriminator.hidden_size * share / heads)),
            "num_heads": heads,
            "intermediate_size": self.intermediate_size or max(1, round(discriminator.intermediate_size * share)),
        }
        for field in AT_MOST:
            most = getattr(discriminator, field)
            check("Generator", field, sizes[field] <= most, f"be at most {most}, the discriminator's", sizes[field])
        whole = sizes["hidden_size"] % heads == 0
        check("Generator", "num_heads", whole, f"divide hidden_size={sizes['hidden_size']}", heads)
        width = discriminator.embedding_size or discriminator.hidden_size
        projects = self.sharing != "none" and width != sizes["hidden_size"]
        return dataclasses.replace(
            discriminator, **sizes, embedding_size=width if projects else None, attention_size=None
        )
