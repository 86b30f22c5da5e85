"""Shapes of BERT that benchmarks of training and of the forward pass share, in the words of each library."""

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.harness.masked_batches import POSITIONS, PREDICTIONS, VOCABULARY

if TYPE_CHECKING:
    from keras_bert.core.config import EncoderConfig


class Shape(NamedTuple):
    """An encoder and its batches."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    rows: int
    length: int

    @property
    def tokens(self) -> int:
        """Tokens a step."""
        return self.rows * self.length

    def flops(self, scored: int = PREDICTIONS) -> float:
        """Floating-point operations of a step, forwards and backwards, with the scores of so many tokens a row."""
        block = 4 * self.hidden**2 + 2 * self.hidden * self.intermediate
        encoder = (6 * self.layers * block + 12 * self.layers * self.hidden * self.length) * self.tokens
        head = 6 * (self.hidden * VOCABULARY + self.hidden**2) * self.rows * scored
        return encoder + head

    def config(self) -> "EncoderConfig":
        """That of our encoder."""
        from keras_bert.core.config import EncoderConfig

        return EncoderConfig(
            vocabulary_size=VOCABULARY,
            num_layers=self.layers,
            hidden_size=self.hidden,
            num_heads=self.heads,
            intermediate_size=self.intermediate,
            max_length=POSITIONS,
            activation="gelu_erf",
        )

    def keras_hub(self) -> dict[str, int]:
        """Arguments of keras-hub's backbone."""
        sizes = {"num_layers": self.layers, "num_heads": self.heads, "hidden_dim": self.hidden}
        further = {"vocabulary_size": VOCABULARY, "max_sequence_length": POSITIONS}
        return {**sizes, **further, "intermediate_dim": self.intermediate}

    def transformers(self) -> dict[str, int]:
        """Settings of transformers' configuration."""
        sizes = {"num_hidden_layers": self.layers, "num_attention_heads": self.heads, "hidden_size": self.hidden}
        further = {"vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS}
        return {**sizes, **further, "intermediate_size": self.intermediate}


SHAPES = {
    "L2 H128": Shape(2, 128, 2, 512, 32, 128),
    "L4 H256": Shape(4, 256, 4, 1024, 32, 128),
    "MiniLM": Shape(6, 384, 12, 1536, 32, 24),
    "BERT-base": Shape(12, 768, 12, 3072, 8, 128),
}
