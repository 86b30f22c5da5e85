"""Configurations: frozen, checked on creation, made of plain values so that they save as JSON."""

import dataclasses
from typing import Any, Literal, get_args

Activation = Literal["gelu_tanh", "gelu_erf", "relu"]
Pooling = Literal["cls", "mean"]
Strategy = Literal["tokens", "whole_words", "spans"]
PairObjective = Literal["next_sentence", "sentence_order", "none"]
Compression = Literal["none", "gzip"]
Decay = Literal["linear", "cosine", "polynomial"]
Precision = Literal["float32", "bfloat16", "float16"]
Xla = Literal["off", "parts", "whole"]

_ACTIVATIONS = get_args(Activation)


def check(owner: str, field: str, holds: bool, rule: str, value: Any) -> None:
    """Raises ValueError `owner.field must rule, got value` unless the rule holds."""
    if not holds:
        raise ValueError(f"{owner}.{field} must {rule}, got {value!r}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """What a person chooses of an encoder; the vocabulary and the data decide the rest.

    Attributes:
        num_layers: encoder blocks.
        hidden_size: width of the residual stream; a multiple of `num_heads`.
        num_heads: attention heads a block.
        intermediate_size: width of the feed-forward layer; 4 x hidden_size in every released BERT.
        activation: of the feed-forward layer; Google's TF1 code uses the tanh form of GELU, Hugging Face
            the erf form.
        dropout: rate on the embeddings and on the output of each sub-layer (Devlin et al. 2019, A.2: 0.1).
        attention_dropout: rate on the attention probabilities (0.1 in the released configurations).
        initializer_range: standard deviation of the truncated normal initializer; 0.02 in the released code,
            which suits a width of 768; at a width of 128, 0.06 learnt faster (docs/log.md).
    """

    num_layers: int
    hidden_size: int
    num_heads: int
    intermediate_size: int
    activation: Activation = "gelu_tanh"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for field in ("num_layers", "hidden_size", "num_heads", "intermediate_size"):
            check(owner, field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        for field in ("dropout", "attention_dropout"):
            check(owner, field, 0 <= getattr(self, field) < 1, "be in [0, 1)", getattr(self, field))
        check(owner, "activation", self.activation in _ACTIVATIONS, f"be one of {_ACTIVATIONS}", self.activation)
        check(owner, "initializer_range", self.initializer_range > 0, "be positive", self.initializer_range)
        whole = self.hidden_size % self.num_heads == 0
        check(owner, "hidden_size", whole, f"be a multiple of num_heads={self.num_heads}", self.hidden_size)

    def encoder_config(self, vocabulary_size: int, max_length: int) -> "EncoderConfig":
        """The configuration of an encoder of this shape."""
        return EncoderConfig(**dataclasses.asdict(self), vocabulary_size=vocabulary_size, max_length=max_length)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig(EncoderShape):
    """All that `build_encoder` needs.

    Attributes:
        vocabulary_size: rows of the token embedding.
        max_length: rows of the position embedding: the longest sequence in tokens.
        num_segments: rows of the segment embedding.
        layer_norm_epsilon: added to the variance (1e-12 in the released code).
    """

    vocabulary_size: int
    max_length: int = 512
    num_segments: int = 2
    layer_norm_epsilon: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("vocabulary_size", "max_length", "num_segments"):
            check("EncoderConfig", field, getattr(self, field) >= 1, "be at least 1", getattr(self, field))
        epsilon = self.layer_norm_epsilon
        check("EncoderConfig", "layer_norm_epsilon", epsilon > 0, "be positive", epsilon)

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_heads


@dataclasses.dataclass(frozen=True, kw_only=True)
class Masking:
    """Which tokens of a sequence to hide and what to put in their place (Devlin et al. 2019, section 3.1).

    Attributes:
        rate: share of the tokens to predict; special tokens do not count.
        max_predictions: the most predictions a sequence; 20 for 128 tokens in the released code.
        mask_share: share of the chosen tokens replaced by `[MASK]`.
        random_share: share of the chosen tokens replaced by a random piece; the rest stay as they are.
        strategy: what is hidden together: `tokens` one by one, all pieces of `whole_words` (as in the whole word
            masking checkpoints of google-research/bert), or `spans` of words (Joshi et al. 2020, section 3.1).
    """

    strategy: Strategy = "tokens"
    rate: float = 0.15
    max_predictions: int = 20
    mask_share: float = 0.8
    random_share: float = 0.1

    def __post_init__(self) -> None:
        check("Masking", "rate", 0 < self.rate < 1, "be between 0 and 1", self.rate)
        check("Masking", "max_predictions", self.max_predictions >= 1, "be at least 1", self.max_predictions)
        for field in ("mask_share", "random_share"):
            check("Masking", field, 0 <= getattr(self, field) <= 1, "be between 0 and 1", getattr(self, field))
        room = self.mask_share + self.random_share <= 1 + 1e-9
        check("Masking", "mask_share", room, f"leave room for random_share={self.random_share}", self.mask_share)
        known = get_args(Strategy)
        check("Masking", "strategy", self.strategy in known, f"be one of {known}", self.strategy)

    def scaled(self, length: int, longest: int) -> "Masking":
        """For rows of another length: as many predictions a token as `max_predictions` allows in `longest` tokens."""
        return dataclasses.replace(self, max_predictions=max(1, round(self.max_predictions * length / longest)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRows:
    """How the rows for pre-training are made of documents.

    Attributes:
        objective: what a row is, besides text with hidden tokens. `next_sentence`: A, and B that follows it or comes
            from another document (Devlin et al. 2019, section 3.1). `sentence_order`: two neighbouring stretches, in
            order or swapped (Lan et al. 2020, section 3.1). `none`: one stretch of full sentences, across documents
            (FULL-SENTENCES of Liu et al. 2019, section 4.2).
        short_share: share of the rows that aim at a random shorter length; 0.1 is `short_seq_prob` of
            google-research/bert.
        short_length: with rows of `max_length`, also write rows of this many tokens, to train on first (Devlin et al.
            2019, appendix A.2: 128, then 512); None writes one length.
        dynamic: leave the rows as they are, and let the reader hide other tokens each epoch (Liu et al. 2019,
            section 4.1); otherwise tokens are hidden once.
        duplication: how often the training documents are paired and masked anew (`dupe_factor` of
            google-research/bert).
        held_out: share of each shard's documents, by the hash of their ids, that goes to validation. The parts of a
            document that was cut go there all or none, by the hash of its text.
        compression: of the record files.
    """

    objective: PairObjective = "next_sentence"
    short_share: float = 0.1
    short_length: int | None = None
    dynamic: bool = False
    duplication: int = 1
    held_out: float = 0.05
    compression: Compression = "none"

    def __post_init__(self) -> None:
        owner = "PretrainingRows"
        for field, choices in (("objective", PairObjective), ("compression", Compression)):
            known = get_args(choices)
            check(owner, field, getattr(self, field) in known, f"be one of {known}", getattr(self, field))
        check(owner, "short_share", 0 <= self.short_share <= 1, "be between 0 and 1", self.short_share)
        if self.short_length is not None:
            check(owner, "short_length", self.short_length >= 8, "be at least 8", self.short_length)
        check(owner, "duplication", self.duplication >= 1, "be at least 1", self.duplication)
        check(owner, "held_out", 0 < self.held_out < 1, "be in (0, 1)", self.held_out)


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
            2018, section 3.2).
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distillation:
    """How a student listens to its teacher (Hinton et al. 2015, section 2).

    Attributes:
        temperature: divides both models' logits; higher shows more of what the teacher deems nearly right.
        hard_weight: share of the loss that goes to the true labels; the rest goes to the teacher.
    """

    temperature: float = 2.0
    hard_weight: float = 0.5

    def __post_init__(self) -> None:
        check("Distillation", "temperature", self.temperature > 0, "be positive", self.temperature)
        check("Distillation", "hard_weight", 0 <= self.hard_weight <= 1, "be between 0 and 1", self.hard_weight)


# Turc et al. 2019, "Well-Read Students Learn Better", table 1: layers, hidden size; one head for every 64 units.
_SHAPES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}

PRESETS: dict[str, dict[str, Any]] = {
    name: {"num_layers": layers, "hidden_size": hidden, "num_heads": hidden // 64, "intermediate_size": 4 * hidden}
    for name, (layers, hidden) in _SHAPES.items()
}

# Rows of the token embedding of the released checkpoints (google-research/bert, README.md).
VOCABULARY_SIZES = {"uncased": 30522, "cased": 28996, "multilingual": 119547, "chinese": 21128}


def preset(name: str, vocabulary: str = "uncased") -> EncoderConfig:
    """The configuration of a released BERT.

    Args:
        name: a key of `PRESETS`.
        vocabulary: a key of `VOCABULARY_SIZES`: uncased or cased English, 104 languages cased, or Chinese.

    Raises:
        ValueError: there is no such preset or vocabulary.
    """
    check("preset", "name", name in PRESETS, f"be one of {tuple(PRESETS)}", name)
    check("preset", "vocabulary", vocabulary in VOCABULARY_SIZES, f"be one of {tuple(VOCABULARY_SIZES)}", vocabulary)
    return EncoderConfig(**PRESETS[name], vocabulary_size=VOCABULARY_SIZES[vocabulary])
