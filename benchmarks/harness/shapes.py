"""The shape of the encoder that a benchmark of files is about, by the same flags everywhere."""

import argparse

from benchmarks.harness.passages import LENGTHS, VOCABULARY
from keras_bert.core.config import EncoderConfig


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Adds `--layers`, `--hidden` and `--heads`; as BERT-Tiny has them where nothing is said."""
    for name in ("layers", "hidden", "heads"):
        parser.add_argument(f"--{name}", type=int, default={"hidden": 128}.get(name, 2))


def config_of(options: argparse.Namespace) -> EncoderConfig:
    """What the flags say."""
    return EncoderConfig(
        vocabulary_size=VOCABULARY,
        num_layers=options.layers,
        hidden_size=options.hidden,
        num_heads=options.heads,
        intermediate_size=4 * options.hidden,
        max_length=max(LENGTHS),
        activation="gelu_erf",
    )
