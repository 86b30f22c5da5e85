"""How long and how to train."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check
from keras_bert.processor import native_precision

Decay = Literal["linear", "cosine", "polynomial"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Xla = Literal["off", "parts", "whole"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """How long and how to train; the optimizer is AdamW with warm-up.

    Attributes:
        steps: optimizer steps; None for as many as `epochs` passes over the examples make.
        epochs: passes over the examples where `steps` is None.
        batch_size: examples a step, on all devices and in all parts together.
        accumulation: parts that a batch is worked off in, one after the other, for want of memory.
        learning_rate: the peak of the schedule.
        warmup: share of the steps in which the learning rate rises.
        decay: how it falls then, see `keras_bert.optimizer.WarmupDecay`.
        power: of a polynomial decay.
        weight_decay: decoupled decay, times the learning rate; not for biases and LayerNorm.
        layer_decay: what the rate of a block is multiplied with to get that of the block below; 1 for one rate.
        clip_norm: the largest norm of all gradients together.
        precision: of the arithmetic; weights are float32 always. With float16 the loss is scaled (Micikevicius et al.
            2018, section 3.2). `auto` becomes what `native_precision` tells of this machine's processor, at once: what
            was chosen is what the record says, and what cache keys hold.
        xla: what of the step XLA compiles: nothing (`off`), what stands between matrix products (`parts`), or all of it
            (`whole`). What each is worth, `benchmarks/train.py` shows.
        ema: the decay of the running mean of the weights that is kept instead of the last ones; 0 for none.
        seed: of the initial weights, dropout and the order of the examples.
    """

    steps: int | None = None
    epochs: float = 3.0
    batch_size: int = 32
    accumulation: int = 1
    learning_rate: float = 5e-5
    warmup: float = 0.1
    decay: Decay = "linear"
    power: float = 2.0
    weight_decay: float = 0.01
    layer_decay: float = 1.0
    clip_norm: float = 1.0
    precision: Precision = "float32"
    xla: Xla = "parts"
    ema: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.precision == "auto":
            object.__setattr__(self, "precision", native_precision())
        if self.steps is not None:
            check("Training", "steps", self.steps >= 1, "be at least 1", self.steps)
        for field in ("batch_size", "accumulation"):
            check("Training", field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        whole = self.batch_size % self.accumulation == 0
        check("Training", "accumulation", whole, f"divide batch_size={self.batch_size}", self.accumulation)
        for field in ("epochs", "learning_rate", "clip_norm", "power"):
            check("Training", field, getattr(self, field) > 0, "be positive", getattr(self, field))
        check("Training", "warmup", 0 <= self.warmup <= 1, "be between 0 and 1", self.warmup)
        check("Training", "weight_decay", self.weight_decay >= 0, "not be negative", self.weight_decay)
        check("Training", "layer_decay", 0 < self.layer_decay <= 1, "be in (0, 1]", self.layer_decay)
        check("Training", "ema", 0 <= self.ema < 1, "be in [0, 1)", self.ema)
        for field, choices in (("decay", Decay), ("precision", Precision), ("xla", Xla)):
            known = get_args(choices)
            check("Training", field, getattr(self, field) in known, f"be one of {known}", getattr(self, field))
        check("Training", "seed", 0 <= self.seed < 2**32, "be in [0, 2^32)", self.seed)

    @property
    def part_size(self) -> int:
        """Examples of each part of a batch."""
        return self.batch_size // self.accumulation

    def count_steps(self, examples: int) -> int:
        """Optimizer steps for this many examples."""
        return self.steps or max(1, round(self.epochs * examples / self.batch_size))
