"""The training of vectors by contrast."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import validated_dataclass

ContrastLoss = Literal["multiple_negatives", "triplet"]


@validated_dataclass
class Contrast:
    """Settings of the loss that brings the vector of a query near its passage, and away from other passages.

    Attributes:
        loss: `multiple_negatives`: the passage of a query against the passages and negatives of all rows of its batch
            (van den Oord et al. 2018, equation 4; Henderson et al. 2017, section 4); `triplet`: against the negatives
            of its row alone (Schroff et al. 2015, section 3.1).
        scale: for `multiple_negatives`, the factor of the cosines, which is 1 over the temperature.
        symmetric: for `multiple_negatives`, whether passages also look for their queries; the loss is the mean of both.
        margin: for `triplet`, by how much the cosine of the passage should exceed that of a negative, at most 2.
        across_parts: for `multiple_negatives`, whether with `accumulation` a query also sees the passages of the other
            parts of its batch, each of which is then run twice (Gao et al. 2021).
        dimensions: widths of truncated vectors that the loss is also computed with, so that the first numbers of a
            vector are a vector, too (Kusupati et al. 2022); the loss is the mean over all widths and the whole vector.
    """

    loss: ContrastLoss = "multiple_negatives"
    scale: pydantic.PositiveFloat = 20.0
    symmetric: bool = False
    across_parts: bool = False
    margin: Annotated[float, pydantic.Field(gt=0, le=2)] = 0.2
    dimensions: tuple[pydantic.PositiveInt, ...] = ()

    @pydantic.model_validator(mode="after")
    def _check_uses(self) -> Self:
        self._check_use("scale", "multiple_negatives")
        self._check_use("symmetric", "multiple_negatives")
        self._check_use("across_parts", "multiple_negatives")
        self._check_use("margin", "triplet")
        different = len(set(self.dimensions)) == len(self.dimensions)
        check("Contrast", "dimensions", different, "hold no width twice", list(self.dimensions))
        return self

    def _check_use(self, field: str, loss: ContrastLoss) -> None:
        """Refuses a field that the loss does not read, unless it has its default."""
        value, default = getattr(self, field), type(self).__dataclass_fields__[field].default
        rule = f"be left out where loss is {self.loss!r}"
        check("Contrast", field, self.loss == loss or value == default, rule, value)

    def check_width(self, width: int) -> None:
        """Raises FieldError unless all dimensions are below the width of a vector."""
        below = all(dimension < width for dimension in self.dimensions)
        rule = f"be below {width}, the width of a vector"
        check("Contrast", "dimensions", below, rule, list(self.dimensions))
