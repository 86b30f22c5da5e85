"""Tasks of every kind whose model is a table: each token has its numbers, so that answers can be told beforehand."""

import numpy as np

from keras_bert.export.runtimes import Output
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

WORDS = ("cow", "hen", "oak", "the", "?")


class TableRuntime:
    """Replaces an exported file.

    Args:
        numbers: of tokens; those of all others are 0.
        pooled: whether a row has the sum of its tokens' numbers, (batch, width), or each token its own.
        name: of the output, where it has one.
        max_length: the most tokens of a row.
    """

    name = "a table"

    def __init__(self, numbers, *, pooled, name="", max_length=16):
        width = len(next(iter(numbers.values())))
        pieces = [*SPECIAL_TOKENS, *WORDS]
        self.max_length = max_length
        self._table = np.array([numbers.get(piece, [0.0] * width) for piece in pieces], "float32")
        self._pooled, self._name = pooled, name
        output = Output((None, width) if pooled else (None, None, width))
        self.output = {name: output} if name else output

    def predict_on_batch(self, batch):
        values = self._table[batch["token_ids"]] * batch["padding_mask"][..., None]
        values = values.sum(axis=1) if self._pooled else values
        return {self._name: values} if self._name else values


def make_task(kind, numbers, *, max_length=16, **settings):
    """A task of this kind whose outputs are looked up in `numbers`."""
    named = kind.output_name if kind.output_name == "embedding" else ""
    runtime = TableRuntime(numbers, pooled=kind.needs_pooling, name=named, max_length=max_length)
    return kind(runtime, Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True), max_length=max_length, **settings)
