"""Fine-tuning of a task: weights that validation selects, hard negatives, few rows."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import ShareBelowOne, validated_dataclass

Keep = Literal["best", "last"]


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


@validated_dataclass
class FewShot:
    """Settings of fine-tuning on few rows, known as SetFit (Tunstall et al. 2022, section 3).

    The encoder learns from pairs of rows: the cosine of their vectors is to be 1 for the same label and 0 for different
    ones. Then it is frozen, and a logistic regression on its vectors becomes the head.

    Attributes:
        pairs: number of pairs with a row of the same label, and as many with a row of another label, that each training
            row is in the first place of (the released code's `num_iterations`), 0 to 1000. With 0 the encoder does not
            learn, and the head is fitted to the vectors of the initial model.
        l2: penalty of the head: half of the sum of its squared weights is multiplied with it and added to the summed
            loss; 1 / C of scikit-learn's `LogisticRegression`, above 0.
    """

    pairs: Annotated[int, pydantic.Field(ge=0, le=1000)] = 20
    l2: pydantic.PositiveFloat = 1.0
