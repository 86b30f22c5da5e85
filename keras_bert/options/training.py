"""Settings of training and of the contrastive loss."""

from typing import Annotated, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.processor import native_precision
from keras_bert.core.validation import PositiveShare, Seed, Share, ShareBelowOne, validated_dataclass

Decay = Literal["linear", "cosine", "polynomial"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Xla = Literal["off", "parts", "whole"]

# Devlin et al. 2019 (appendix A.3) train 2 to 4 epochs; on few rows more steps matter more than the number of epochs
# (Mosbach et al. 2021, section 6: 20 epochs for sets of thousands of rows).
_EPOCHS = ((500, 10.0), (2_000, 6.0), (10_000, 4.0), (50_000, 3.0), (200_000, 2.0))
_FEWEST_EPOCHS = 1.0
# Small encoders need larger steps: the rates of the jobs in docs/accuracy.md for 384 units, of Devlin et al. for more.
_NARROW, _NARROW_RATES, _WIDE_RATES = 384, (1e-4, 2e-4), (3e-5, 1e-4)
# Students of pairs learn little of few rows, however often; measured with 2,700 rows alone (docs/accuracy.md).
_NEW_PAIRS, _MOST_ROWS_WITH_NEW_PAIRS = 2, 10_000
RETRIEVAL_RATE = 2e-5
"""The rate of a retrieval model: checkpoints have mostly learnt to search (docs/guides/retrieval.md)."""


def suggest_epochs(rows: int) -> float:
    """The number of epochs of a fine-tuning or a distillation that suits a number of training rows."""
    return next((epochs for most, epochs in _EPOCHS if rows <= most), _FEWEST_EPOCHS)


def suggest_new_pairs(rows: int) -> int:
    """The number of new pairs for each first text that suits the distillation on so many rows of two texts."""
    return _NEW_PAIRS if rows <= _MOST_ROWS_WITH_NEW_PAIRS else 0


def suggest_rates(width: int | None) -> tuple[float, float]:
    """The learning rates that suit a teacher of so many hidden units and its student; None if the number is unknown."""
    return _NARROW_RATES if width is None or width <= _NARROW else _WIDE_RATES


@validated_dataclass
class Training:
    """Settings of a training; the optimizer is AdamW with warm-up.

    Attributes:
        steps: number of optimizer steps; None derives it from `epochs`.
        epochs: number of passes over the examples where `steps` is None; fractions are allowed.
        batch_size: number of examples per optimizer step, over all devices and micro-batches.
        accumulation: number of micro-batches that a batch is split into to save memory (gradient accumulation); must
            divide `batch_size`.
        learning_rate: peak of the learning rate, above 0.
        warmup: share of the steps, 0 to 1, in which the learning rate rises.
        decay: learning rate schedule after the warm-up, see `keras_bert.models.optimizer.WarmupDecay`.
        power: exponent of a polynomial decay, above 0.
        weight_decay: decoupled weight decay, multiplied with the learning rate; not applied to biases and LayerNorm.
        layer_decay: learning rate of a block divided by the rate of the block above it, above 0 and at most 1; 1 for
            the same rate everywhere.
        clip_norm: maximum global norm of the gradients, above 0.
        precision: number format of the arithmetic; weights are always float32. With `float16` the loss is scaled
            (Micikevicius et al. 2018, section 3.2). `auto` is replaced on creation by the best format of this machine's
            processor, so records and cache keys hold the chosen format.
        xla: the part of a training step that XLA compiles: nothing (`off`), the operations between matrix products
            (`parts`), or all of it (`whole`). `benchmarks/train.py` measures their speed.
        ema: decay of the exponential moving average of the weights, 0 to below 1. The average replaces the last
            weights; 0 turns it off.
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
    def micro_batch_size(self) -> int:
        """Number of examples in a micro-batch."""
        return self.batch_size // self.accumulation

    def count_steps(self, examples: int) -> int:
        """Returns the number of optimizer steps: `steps`, or `epochs` passes over the examples."""
        return self.steps or max(1, round(self.epochs * examples / self.batch_size))


ContrastLoss = Literal["multiple_negatives", "triplet"]


@validated_dataclass
class Contrast:
    """Settings of the contrastive loss: a query's vector should be near its passage and far from other passages.

    Attributes:
        loss: `multiple_negatives` compares the passage of a query with the passages and negatives of all rows of its
            batch (van den Oord et al. 2018, equation 4; Henderson et al. 2017, section 4); `triplet` compares it with
            the negatives of its row only (Schroff et al. 2015, section 3.1).
        scale: for `multiple_negatives`, the inverse temperature: cosines are multiplied by it.
        symmetric: for `multiple_negatives`, whether to average the loss with the loss of passages as queries.
        margin: for `triplet`, the required lead of the passage's cosine over a negative's cosine, at most 2.
        across_micro_batches: for `multiple_negatives` with `accumulation`, whether passages of all micro-batches are
            negatives (Gao et al. 2021). The encoder then runs twice on each micro-batch.
        dimensions: widths of truncated vectors that the loss is also computed with, so that vectors can be truncated
            (Matryoshka representations, Kusupati et al. 2022). The loss is the mean over all widths and the full one.
        scores: for `multiple_negatives`, the distance of the scaled cosines from a teacher's scores of a query's
            passage and negatives: the `divergence` of their softmaxes (Lin et al. 2021), or the squared difference of
            their margins, `margin_mse` (Hofstätter et al. 2020). For `triplet` it is that of unscaled cosines.
    """

    loss: ContrastLoss = "multiple_negatives"
    scale: pydantic.PositiveFloat = 20.0
    symmetric: bool = False
    across_micro_batches: bool = False
    margin: Annotated[float, pydantic.Field(gt=0, le=2)] = 0.2
    dimensions: tuple[pydantic.PositiveInt, ...] = ()
    scores: Literal["divergence", "margin_mse"] = "divergence"

    @pydantic.model_validator(mode="after")
    def _check_uses(self) -> Self:
        self._check_use("scale", "multiple_negatives")
        self._check_use("symmetric", "multiple_negatives")
        self._check_use("scores", "multiple_negatives")
        self._check_use("across_micro_batches", "multiple_negatives")
        self._check_use("margin", "triplet")
        different = len(set(self.dimensions)) == len(self.dimensions)
        check("Contrast", "dimensions", different, "hold no width twice", list(self.dimensions))
        return self

    def _check_use(self, field: str, loss: ContrastLoss) -> None:
        """Raises FieldError for a field that the loss does not use, unless it has its default."""
        value, default = getattr(self, field), type(self).__dataclass_fields__[field].default
        rule = f"be left out where loss is {self.loss!r}"
        check("Contrast", field, self.loss == loss or value == default, rule, value)

    def check_width(self, width: int) -> None:
        """Raises FieldError unless all dimensions are below the width of a vector."""
        below = all(dimension < width for dimension in self.dimensions)
        check("Contrast", "dimensions", below, f"be below {width}, the width of a vector", list(self.dimensions))
