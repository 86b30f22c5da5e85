"""The length of a training, its optimizer, its arithmetic, and the contrast of vectors."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.processor import native_precision
from keras_bert.core.validation import PositiveShare, Seed, Share, ShareBelowOne, validated_dataclass

Decay = Literal["linear", "cosine", "polynomial"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Xla = Literal["off", "parts", "whole"]


@validated_dataclass
class Training:
    """Settings of a training; the optimizer is AdamW with warm-up.

    Attributes:
        steps: number of optimizer steps; None for as many as `epochs` passes over the examples make.
        epochs: number of passes over the examples where `steps` is None; fractions are allowed.
        batch_size: number of examples in a step, on all devices and in all accumulated parts together.
        accumulation: number of parts that a batch is computed in, one after the other, to save memory; it divides
            `batch_size`.
        learning_rate: peak of the learning rate, above 0.
        warmup: share of the steps, 0 to 1, in which the learning rate rises.
        decay: shape of the fall of the learning rate after the warm-up, see `keras_bert.models.optimizer.WarmupDecay`.
        power: exponent of a polynomial decay, above 0.
        weight_decay: decoupled weight decay, multiplied with the learning rate; not applied to biases and LayerNorm.
        layer_decay: factor from the learning rate of a block to that of the block below, above 0 and at most 1; 1 for
            the same rate everywhere.
        clip_norm: maximum norm of all gradients together, above 0.
        precision: number format of the arithmetic; weights are always float32. With `float16` the loss is scaled
            (Micikevicius et al. 2018, section 3.2). `auto` is replaced at once by the best format of this machine's
            processor, so that records and cache keys hold the chosen format.
        xla: the part of a training step that XLA compiles: nothing (`off`), the operations between matrix products
            (`parts`), or all of it (`whole`). `benchmarks/train.py` measures their speed.
        ema: decay of the running mean of the weights, 0 to below 1, which is kept in place of the last weights; 0 for
            no mean.
        seed: seed of the initial weights, dropout and the order of the examples, 0 to 2^32 - 1.
    """

    steps: pydantic.PositiveInt | None = None
    epochs: pydantic.PositiveFloat = 3.0
    batch_size: pydantic.PositiveInt = 32
    accumulation: pydantic.PositiveInt = 1
    learning_rate: pydantic.PositiveFloat = 5e-5
    warmup: Share = 0.1
    decay: Decay = "linear"
    power: pydantic.PositiveFloat = 2.0
    weight_decay: pydantic.NonNegativeFloat = 0.01
    layer_decay: PositiveShare = 1.0
    clip_norm: pydantic.PositiveFloat = 1.0
    precision: Precision = "float32"
    xla: Xla = "parts"
    ema: ShareBelowOne = 0.0
    seed: Seed = 0

    @pydantic.model_validator(mode="after")
    def _check_accumulation(self) -> Self:
        whole = self.batch_size % self.accumulation == 0
        check("Training", "accumulation", whole, f"divide batch_size={self.batch_size}", self.accumulation)
        return self

    @pydantic.model_validator(mode="after")
    def _resolve_precision(self) -> Self:
        if self.precision == "auto":
            object.__setattr__(self, "precision", native_precision())
        return self

    @property
    def part_size(self) -> int:
        """Number of examples in a part of a batch."""
        return self.batch_size // self.accumulation

    def count_steps(self, examples: int) -> int:
        """Number of optimizer steps for a number of examples."""
        return self.steps or max(1, round(self.epochs * examples / self.batch_size))


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
        check("Contrast", "dimensions", below, f"be below {width}, the width of a vector", list(self.dimensions))
