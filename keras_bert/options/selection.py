"""The selection of weights by validation."""

from typing import Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import validated_dataclass

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
