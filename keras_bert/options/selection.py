"""Which weights of a training are kept."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check

Keep = Literal["best", "last"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """Which weights of a training are kept, and when it stops; only the validation split has a say in it.

    Attributes:
        keep: `best`: those of the validation with the best accuracy, for tasks other than classification the lowest
            loss; `last`: those after the last step.
        validations: how often to validate, evenly spread over the training.
        patience: validations in a row without a better value after which training stops; None for never.
    """

    keep: Keep = "best"
    validations: int = 4
    patience: int | None = None

    def __post_init__(self) -> None:
        check("Selection", "keep", self.keep in get_args(Keep), f"be one of {get_args(Keep)}", self.keep)
        check("Selection", "validations", self.validations >= 1, "be at least 1", self.validations)
        if self.patience is not None:
            check("Selection", "patience", self.patience >= 1, "be at least 1", self.patience)
            rule = f"be left out where keep is {self.keep!r}"
            check("Selection", "patience", self.keep == "best", rule, self.patience)
