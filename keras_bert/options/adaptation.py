"""How few weights are to learn a task while the encoder's own stay as they are."""

import dataclasses
from typing import Literal

from keras_bert.checks import check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lora:
    """Beside the kernels of some layers the product of two thin matrices (Hu et al. 2022).

    Attributes:
        rank: columns of the first, rows of the second (section 4.1: r).
        alpha: the product is multiplied with alpha / rank (section 4.1).
        dropout: rate on what the product reads (the released code's `lora_dropout`).
        layers: names of the layers of a block that get one, or ends of their paths, as `attention/output_projection`
            where two have the same name; query and value in the paper (section 4.2). None for these,
            or for the one layer that holds them in a graph that makes them together.
    """

    kind: Literal["lora"] = "lora"

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    layers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check("Lora", "rank", self.rank >= 1, "be at least 1", self.rank)
        check("Lora", "alpha", self.alpha > 0, "be positive", self.alpha)
        check("Lora", "dropout", 0 <= self.dropout < 1, "be in [0, 1)", self.dropout)
        names = self.layers is None or (len(self.layers) and all(isinstance(name, str) for name in self.layers))
        check("Lora", "layers", bool(names), "name at least one layer", self.layers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adapters:
    """After each sub-layer two small layers with an activation between them, added (Houlsby et al. 2019, section 2.1).

    Attributes:
        size: width between the two (section 3.2: 8 to 256).
    """

    kind: Literal["adapters"] = "adapters"

    size: int = 64

    def __post_init__(self) -> None:
        check("Adapters", "size", self.size >= 1, "be at least 1", self.size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prompt:
    """Learned vectors in front of the tokens' embeddings (Lester et al. 2021, section 2).

    Attributes:
        tokens: how many (section 3.2: 20 to 100); they take as many of the encoder's positions.
    """

    kind: Literal["prompt"] = "prompt"

    tokens: int = 20

    def __post_init__(self) -> None:
        check("Prompt", "tokens", self.tokens >= 1, "be at least 1", self.tokens)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bias:
    """The encoder's biases alone (Ben Zaken et al. 2022, section 3)."""

    kind: Literal["bias"] = "bias"


Adaptation = Lora | Adapters | Prompt | Bias

ADAPTATIONS: dict[str, type[Adaptation]] = {kind.kind: kind for kind in (Lora, Adapters, Prompt, Bias)}
