"""The length of a training, its optimizer and its arithmetic."""

from typing import Literal, Self

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
