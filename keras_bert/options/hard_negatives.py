"""The search for passages that a model takes for answers and that are none."""

from typing import Annotated, Literal

import pydantic

from keras_bert.core.validation import ShareBelowOne, validated_dataclass

Miner = Literal["initial", "fine_tuned"]


@validated_dataclass
class HardNegatives:
    """Settings of the search for negatives that are near to a query (Xiong et al. 2021, section 4).

    Attributes:
        count: number of negatives for each training query, at most; those nearest to the query are taken.
        candidates: number of passages nearest to a query among which they are searched.
        margin: share of the cosine of a query's passage by which a negative must be below it, 0 to below 1: what is
            nearer is likely another answer (Moreira et al. 2024, section 3.2, "TopK-PercPos", take 0.05).
        miner: the model whose vectors are searched: the `initial` one, or one that was `fine_tuned` on the same rows
            before, without these negatives.
    """

    count: Annotated[int, pydantic.Field(ge=1, le=100)] = 3
    candidates: Annotated[int, pydantic.Field(ge=1)] = 50
    margin: ShareBelowOne = 0.05
    miner: Miner = "initial"
