"""Texts and vocabularies that benchmarks read."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_bert.tokenizers.tokenizer import Tokenizer


def load_vocabulary(file: Path) -> Tokenizer:
    """The tokenizer of a published vocabulary; those of cased models have `-cased` in their name."""
    return Tokenizer(file.read_bytes().decode().removesuffix("\n").split("\n"), lowercase="-cased" not in file.name)


def take(lines: Iterable[str], most: float) -> Iterator[str]:
    """The first lines, of at most so many megabytes."""
    taken = 0.0
    for line in lines:
        taken += len(line.encode()) / 1e6
        if taken > most:
            return
        yield line
