"""Parameter-efficient adaptation: few weights learn a task while those of the encoder stay as they are."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from keras_bert.core.validation import ShareBelowOne, read_json, validated_dataclass


@validated_dataclass
class Lora:
    """Adds the product of two thin matrices to the kernels of some layers (Hu et al. 2022).

    Attributes:
        kind: `lora`.
        rank: number of columns of the first matrix and of rows of the second (section 4.1: r).
        alpha: scale of the product, which is multiplied with alpha / rank (section 4.1); above 0.
        dropout: dropout rate on the input of the product, 0 to below 1 (the released code's `lora_dropout`).
        layers: names of the layers in each block that get a product, or the ends of their paths, such as
            `attention/output_projection` where two layers have the same name. None for query and value, as in the paper
            (section 4.2), or for the one layer that computes both.

    Examples:
        >>> Lora(rank=4, layers=("query", "value"))
        Lora(kind='lora', rank=4, alpha=16.0, dropout=0.0, layers=('query', 'value'))
    """

    kind: Literal["lora"] = "lora"
    rank: pydantic.PositiveInt = 8
    alpha: pydantic.PositiveFloat = 16.0
    dropout: ShareBelowOne = 0.0
    layers: Annotated[tuple[str, ...], pydantic.Field(min_length=1)] | None = None


@validated_dataclass
class Adapters:
    """Adds two small layers with an activation between them to each sub-layer (Houlsby et al. 2019, section 2.1).

    Attributes:
        kind: `adapters`.
        size: width between the two layers (section 3.2: 8 to 256).

    Examples:
        >>> Adapters(size=0)
        Traceback (most recent call last):
        ...
        keras_bert.core.checks.FieldError: Adapters.size must be positive, got 0
    """

    kind: Literal["adapters"] = "adapters"
    size: pydantic.PositiveInt = 64


@validated_dataclass
class Prompt:
    """Puts learned vectors in front of the embeddings of the tokens (Lester et al. 2021, section 2).

    Attributes:
        kind: `prompt`.
        tokens: number of vectors (section 3.2: 20 to 100); each takes one of the encoder's positions.

    Examples:
        >>> Prompt(tokens=10)
        Prompt(kind='prompt', tokens=10)
    """

    kind: Literal["prompt"] = "prompt"
    tokens: pydantic.PositiveInt = 20


@validated_dataclass
class Bias:
    """Trains only the biases of the encoder (Ben Zaken et al. 2022, section 3).

    Attributes:
        kind: `bias`.

    Examples:
        >>> Bias() == read_adaptation({"kind": "bias"})
        True
    """

    kind: Literal["bias"] = "bias"


Adaptation = Annotated[Lora | Adapters | Prompt | Bias, pydantic.Field(discriminator="kind")]


def read_adaptation(content: Mapping[str, Any]) -> Adaptation:
    """The adaptation with the given plain values, one of which is `kind`."""
    adaptation: Adaptation = read_json(Adaptation, content, "Adaptation")  # type: ignore[arg-type]
    return adaptation
