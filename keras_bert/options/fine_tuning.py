"""Fine-tuning of a task: weights that validation selects, hard negatives, few rows."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import ShareBelowOne, validated_dataclass

Keep = Literal["best", "last"]
StartHead = Literal["auto", "fitted", "random"]


@validated_dataclass
class Selection:
    """Settings of the validations during a training, which choose the weights to keep.

    Attributes:
        keep: `best`: the weights with the best accuracy on the validation split, for tasks other than classification
            with the lowest loss; `last`: the weights after the last step.
        validations: number of validations, evenly spread over the training.
        patience: number of validations in a row without a better value after which training stops; None for never.
    """

    keep: Keep = "best"
    validations: pydantic.PositiveInt = 4
    patience: pydantic.PositiveInt | None = None

    @pydantic.model_validator(mode="after")
    def _check_patience(self) -> Self:
        useful = self.patience is None or self.keep == "best"
        check("Selection", "patience", useful, f"be left out where keep is {self.keep!r}", self.patience)
        return self


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
