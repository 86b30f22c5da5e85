"""What puts other tokens into a text, for a discriminator to find them."""

import dataclasses
from typing import Any, Literal, get_args

from keras_bert.checks import check
from keras_bert.config import EncoderConfig

Sharing = Literal["embeddings", "none", "gradient_disentangled"]

_SIZES = ("num_layers", "hidden_size", "num_heads", "intermediate_size")
# What must not be more than the discriminator's; a generator may well have more, narrower heads.
AT_MOST = ("num_layers", "hidden_size", "intermediate_size")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Generator:
    """The small encoder that guesses hidden tokens, and what it is to its discriminator (Clark et al. 2020).

    Attributes:
        size: share of the discriminator's width, heads and intermediate width that it has, with as many layers (table
            6: 1/4 for small and large, 1/3 for base; figure 3).
        num_layers: of its own instead.
        hidden_size: of its own instead; heads and intermediate width, unless they are set, have the same share then.
        num_heads: of its own instead.
        intermediate_size: of its own instead.
        sharing: of token and position embeddings. `embeddings`: both read, and both train, the discriminator's (section
            3.2); where widths differ the generator projects. `none`: each has its own. `gradient_disentangled`: the
            discriminator reads the generator's, which its loss does not change, plus a difference of its own that it
            learns (He et al. 2023, section 3.3).
        weight: of the discriminator's loss, beside 1 for the generator's (appendix A: 50).
    """

    size: float = 0.25
    num_layers: int | None = None
    hidden_size: int | None = None
    num_heads: int | None = None
    intermediate_size: int | None = None
    sharing: Sharing = "embeddings"
    weight: float = 50.0

    def __post_init__(self) -> None:
        check("Generator", "size", 0 < self.size <= 1, "be in (0, 1]", self.size)
        for field in _SIZES:
            value = getattr(self, field)
            check("Generator", field, value is None or value >= 1, "be at least 1", value)
        known = get_args(Sharing)
        check("Generator", "sharing", self.sharing in known, f"be one of {known}", self.sharing)
        check("Generator", "weight", self.weight > 0, "be positive", self.weight)

    def config(self, discriminator: EncoderConfig) -> EncoderConfig:
        """The generator's encoder.

        Raises:
            ValueError: it would be larger than the discriminator, or has no such shape.
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
