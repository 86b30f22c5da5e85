"""Settings of MPNet (Song et al. 2020)."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class MPNet(Variant):
    """MPNet's settings: each head adds a learned number for the relative position of two tokens to their score.

    All layers share these numbers. The defaults are those of the released checkpoints.

    Attributes:
        position_buckets: the number of relative positions, half of them for each direction. Half of these contain one
            distance each, the others ranges of distances that grow exponentially (Raffel et al. 2020, section 2.1).
        max_distance: the distance in tokens from which on all distances share one relative position.

    Examples:
        >>> MPNet().position_buckets
        32
    """

    kind: Literal["mpnet"] = "mpnet"
    position_buckets: Annotated[int, pydantic.Field(ge=4, multiple_of=4)] = 32
    max_distance: pydantic.PositiveInt = 128

    @pydantic.model_validator(mode="after")
    def _check_positions(self) -> Self:
        near = self.position_buckets // 4
        rule = f"be larger than a quarter of position_buckets={self.position_buckets}"
        check("MPNet", "max_distance", self.max_distance > near, rule, self.max_distance)
        return self
