"""The pruning of weights."""

from typing import Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import OpenShare, PositiveShare, validated_dataclass

Pattern = Literal["unstructured", "2:4"]


@validated_dataclass
class Pruning:
    """Settings of the pruning of each kernel; the weights of the smallest size become zero.

    Attributes:
        sparsity: share of the weights that become zero, above 0 and below 1.
        pattern: `unstructured`, or `2:4`: two of four neighbouring weights of a unit, which some processors multiply
            faster (Mishra et al. 2021); its sparsity is 0.5.
        ramp: share of the steps, above 0 and at most 1, in which the sparsity rises (Zhu and Gupta 2017, equation 1);
            the other weights go on training after it.
    """

    sparsity: OpenShare = 0.5
    pattern: Pattern = "unstructured"
    ramp: PositiveShare = 0.5

    @pydantic.model_validator(mode="after")
    def _check_pattern(self) -> Self:
        half = self.pattern == "unstructured" or self.sparsity == 0.5
        check("Pruning", "sparsity", half, "be 0.5 with the pattern '2:4'", self.sparsity)
        return self
