"""Which weights of a model become zero."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check

Pattern = Literal["unstructured", "2:4"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pruning:
    """Which share of each kernel's weights becomes zero, and how soon; the smallest go.

    Attributes:
        sparsity: that share.
        pattern: `unstructured`, or `2:4`, two of four weights of a unit that stand side by side, which some processors
            multiply faster (Mishra et al. 2021); its share is a half.
        ramp: share of the steps in which it rises (Zhu and Gupta 2017, equation 1); then the rest learns on.
    """

    sparsity: float = 0.5
    pattern: Pattern = "unstructured"
    ramp: float = 0.5

    def __post_init__(self) -> None:
        check("Pruning", "sparsity", 0 < self.sparsity < 1, "be in (0, 1)", self.sparsity)
        known = get_args(Pattern)
        check("Pruning", "pattern", self.pattern in known, f"be one of {known}", self.pattern)
        half = self.pattern == "unstructured" or self.sparsity == 0.5
        check("Pruning", "sparsity", half, "be 0.5 with the pattern '2:4'", self.sparsity)
        check("Pruning", "ramp", 0 < self.ramp <= 1, "be in (0, 1]", self.ramp)
