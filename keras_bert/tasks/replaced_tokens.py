"""Replaced-token detection: ELECTRA's discriminator (Clark et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.tasks.base import ROWS_AT_ONCE, Array, Features, Runtime, Task, slices
from keras_bert.tasks.checks import as_columns, as_texts, is_keras_model

if TYPE_CHECKING:
    import keras

    from keras_bert.tokenizers.base import BaseTokenizer

Range = tuple[int, int]


class Suspect(NamedTuple):
    """A token of a text, its characters `start:end`, and the probability, 0 to 1, that another stood in its place.

    Examples:
        >>> Suspect("film", start=0, end=4, probability=0.1).text
        'film'
    """

    text: str
    start: int
    end: int
    probability: float


class ReplacedTokens(Task):
    """The tokens of a text that were put in the place of others.

    Args:
        model: a model as `build_replaced_tokens` returns it, or an exported file; others see `Task`.

    Raises:
        ValueError: see `Task`; or the model has no head for replaced tokens.

    Examples:
        >>> detection = ReplacedTokens.build(task.encoder, task.tokenizer, max_length=16)
        >>> [(suspect.text, suspect.start) for suspect in detection.predict(["film film"])[0]]
        [('film', 0), ('film', 5)]
    """

    name = "replaced_tokens"

    def __init__(self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, max_length: int = 128) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        if is_keras_model(model):
            from keras_bert.models.encoder import has_layer
            from keras_bert.models.replaced_tokens import HEAD

            check(type(self).__name__, "model", has_layer(model, HEAD), f"have the layer {HEAD}", model.name)

    @classmethod
    def build(cls, encoder: keras.Model, tokenizer: BaseTokenizer, *, max_length: int = 128) -> Self:
        from keras_bert.models.replaced_tokens import build_replaced_tokens

        return cls(build_replaced_tokens(encoder), tokenizer, max_length=max_length)

    def loss(self) -> Any:
        """Mean cross-entropy of the tokens, in nats."""
        from keras_bert.core.losses import replaced_loss

        return replaced_loss

    def metrics(self) -> list[keras.metrics.Metric]:
        from keras_bert.metrics.accuracy import ReplacedAccuracy

        return [ReplacedAccuracy()]

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """See `Task.agreement`: the share of tokens with the same answer of both models."""
        same = (np.asarray(reference) > 0) == (np.asarray(candidate) > 0)
        return (same * padding_mask).sum(axis=1) / np.maximum(padding_mask.sum(axis=1), 1)

    def examples(self, texts: Sequence[str], replaced: Sequence[Sequence[Range]]) -> tuple[Features, Array]:
        """Arguments of `model.fit`.

        Args:
            texts: texts in which words were replaced.
            replaced: for each text the ranges of characters (first, after the last) that were replaced.

        Returns:
            The inputs, and the labels, all (rows, length) int32: 1 for a token with a character in a range, 0 for
            other tokens, special tokens included, `IGNORED` for padding.

        Raises:
            ValueError: a range is empty or not within its text.
        """
        from keras_bert.core.losses import IGNORED

        texts, replaced = as_columns(texts=texts, replaced=replaced)
        features = self.encode(texts)
        labels = np.where(features["padding_mask"] == 1, 0, IGNORED).astype("int32")
        for row, (text, ranges, (starts, ends)) in enumerate(zip(texts, replaced, self._offsets(texts), strict=True)):
            for place, (start, end) in enumerate(ranges):
                inside = 0 <= start < end <= len(text)
                rule = f"be a range within the text's {len(text)} characters"
                check(type(self).__name__, f"replaced[{row}][{place}]", inside, rule, (start, end))
                labels[row, 1 : len(starts) + 1] |= (starts < end) & (ends > start)
        return features, labels

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> list[list[Suspect]]:
        """The tokens of each text, first to last, without those that `max_length` cuts off."""
        texts = as_texts("texts", texts)
        answers = []
        for part in (texts[rows] for rows in slices(len(texts), ROWS_AT_ONCE)):
            logits = self.forward(self.encode(part), batch_size)
            for text, row, (starts, ends) in zip(part, logits, self._offsets(part), strict=True):
                shares = 1 / (1 + np.exp(-row[1 : len(starts) + 1].astype("float64")))
                places = zip(starts.tolist(), ends.tolist(), shares.tolist(), strict=True)
                answers.append([Suspect(text[start:end], start, end, share) for start, end, share in places])
        return answers

    def _offsets(self, texts: list[str]) -> list[tuple[Array, Array]]:
        """The starts and ends of the tokens of each text, of as many as the model reads."""
        tokens, starts, ends = self.tokenizer.tokenize_with_offsets(texts)
        splits = np.cumsum(np.asarray(tokens.row_lengths()))[:-1]
        firsts, lasts = (np.split(np.asarray(places.flat_values), splits) for places in (starts, ends))
        room = self.max_length - self.tokenizer.special_count(1)
        return [(first[:room], last[:room]) for first, last in zip(firsts, lasts, strict=True)]
