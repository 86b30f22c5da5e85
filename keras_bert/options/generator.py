"""The generator of replaced-token detection."""

import dataclasses
from typing import Any, Literal

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.validation import PositiveShare, validated_dataclass

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
        """The configuration of the generator's encoder beside a discriminator.

        Raises:
            FieldError: the generator would be larger than the discriminator, or its sizes break a rule of
                `EncoderConfig`.
        """
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
