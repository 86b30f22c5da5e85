"""Masked tokens (Devlin et al. 2019, section 3.1): training on unlabelled text, and filling blanks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.masking.masks import mask_rows, masking_vocabulary
from keras_bert.options.pretraining import Masking
from keras_bert.tasks.base import ROWS_AT_ONCE, Array, Features, Task, pad_rows, slices
from keras_bert.tasks.checks import as_texts

if TYPE_CHECKING:
    import keras

    from keras_bert.tokenizers.base import BaseTokenizer


class Filling(NamedTuple):
    """A vocabulary entry that may fill a blank, and its probability, 0 to 1.

    Examples:
        >>> Filling("film", 0.5).piece
        'film'
    """

    piece: str
    probability: float


class Pretraining(Task):
    """The tokens that are missing in a text.

    Args:
        model: a model as `build_pretraining` returns it; for tokenizer and max_length see `Task`.

    Raises:
        ValueError: see `Task`; or the model has no output `masked_tokens`.

    Examples:
        >>> pretraining = Pretraining.build(task.encoder, task.tokenizer, max_length=16)
        >>> (fillings,) = pretraining.predict(["film [MASK]"], top_k=2)[0]  # one blank
        >>> len(fillings)
        2
    """

    name = "pretraining"
    has_own_head = False

    def __init__(self, model: keras.Model, tokenizer: BaseTokenizer, *, max_length: int = 128) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        whole = isinstance(model.output, dict) and "masked_tokens" in model.output
        check(type(self).__name__, "model", whole, "have an output `masked_tokens`", model.name)

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 128,
        next_sentence: bool = False,
        mask_decoder: bool = False,
    ) -> Self:
        from keras_bert.models.pretraining import build_pretraining

        model = build_pretraining(encoder, next_sentence=next_sentence, mask_decoder=mask_decoder)
        return cls(model, tokenizer, max_length=max_length)

    def head(self) -> dict[str, Any]:
        from keras_bert.models.encoder import has_layer
        from keras_bert.models.pretraining import POSITIONS

        return {
            "next_sentence": "next_sentence" in self.model.output,
            "mask_decoder": has_layer(self.model, POSITIONS),
        }

    def loss(self) -> Any:
        """Mean cross-entropy of the masked tokens, in nats; a next-sentence head stays untrained."""
        from keras_bert.core.losses import labelled_cross_entropy

        return {"masked_tokens": labelled_cross_entropy()}

    def metrics(self) -> Any:
        from keras_bert.metrics.accuracy import LabelledAccuracy

        return {"masked_tokens": [LabelledAccuracy()]}

    def examples(
        self, texts: Sequence[str], *, masking: Masking = Masking(), seed: int = 0
    ) -> tuple[Features, dict[str, Array]]:
        """Arguments of `model.fit`: texts with masked tokens, and the ids of these tokens.

        Call it for each epoch with a new seed to mask other tokens.

        Returns:
            The inputs (rows, length) with `mask_positions` (rows, predictions), and `masked_tokens`
            (rows, predictions) int32, `IGNORED` where a row has fewer predictions; for a model with a head for the
            next sentence also `next_sentence` (rows,), all `IGNORED`, as Keras needs labels for each output.
        """
        from keras_bert.core.losses import IGNORED

        features = self.encode(texts)
        vocabulary = masking_vocabulary(self.tokenizer)
        masked = mask_rows(
            features["token_ids"],
            (features["padding_mask"] == 1) & ~vocabulary.is_special[features["token_ids"]],
            masking=masking,
            mask_id=vocabulary.mask_id,
            replacement_ids=vocabulary.replacement_ids,
            keys=np.random.default_rng(seed).integers(0, 2**64, size=len(texts), dtype=np.uint64),
            continues=vocabulary.continues[features["token_ids"]],
        )
        inputs = {**features, "token_ids": masked.token_ids, "mask_positions": masked.mask_positions}
        labels = {"masked_tokens": np.where(masked.mask_weights == 1, masked.mask_ids, IGNORED)}
        if "next_sentence" in self.model.output:
            labels["next_sentence"] = np.full(len(texts), IGNORED, "int32")
        return inputs, labels

    def predict(self, texts: Sequence[str], *, top_k: int = 5, batch_size: int = 32) -> list[list[list[Filling]]]:
        """The most probable tokens for each blank, the tokenizer's `mask`, of each text, best first.

        Raises:
            ValueError: a text has no blank, or more tokens than `max_length`; `top_k` is below 1.
        """
        check("Pretraining", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        answers, vocabulary = [], self.tokenizer.vocabulary
        for part in slices(len(texts), ROWS_AT_ONCE):
            features = self._with_blanks(texts[part], part.start)
            blanks = (features["token_ids"] == self.tokenizer.mask_id).sum(axis=1)
            best = self.forward(features, batch_size, keep=lambda outputs: _best(outputs["masked_tokens"], top_k))
            for (indices, shares), count in zip(best, blanks, strict=True):
                pairs = (zip(*row, strict=True) for row in zip(indices[:count], shares[:count], strict=True))
                answers.append(
                    [[Filling(vocabulary[index], float(share)) for index, share in blank] for blank in pairs]
                )
        return answers

    def _with_blanks(self, texts: Sequence[str], first: int) -> Features:
        """The model's inputs for texts with blanks, which are no text for the tokenizer."""
        blank = self.tokenizer.mask
        # The mask token includes the space in front of it, as in transformers; the space may be a token otherwise.
        parts = [[part.rstrip() for part in text.split(blank)[:-1]] + text.split(blank)[-1:] for text in texts]
        tokens = iter(self.tokenizer.tokenize([part for text in parts for part in text]).to_list())
        rows = []
        for number, text in enumerate(parts, start=first):
            row = [self.tokenizer.cls_id, *next(tokens)]
            for _ in text[1:]:
                row += [self.tokenizer.mask_id, *next(tokens)]
            rows.append([*row, self.tokenizer.sep_id])
            check("Pretraining", f"texts[{number}]", len(text) > 1, f"hold {blank}", blank.join(text))
            fits = len(rows[-1]) <= self.max_length
            check("Pretraining", f"texts[{number}]", fits, f"have at most {self.max_length} tokens", len(rows[-1]))
        token_ids = pad_rows(rows, self.tokenizer.pad_id)
        padding_mask = pad_rows([[1] * len(row) for row in rows], 0)
        positions = [[place for place, token in enumerate(row) if token == self.tokenizer.mask_id] for row in rows]
        return {
            "token_ids": token_ids,
            "segment_ids": np.zeros_like(token_ids),
            "padding_mask": padding_mask,
            "mask_positions": pad_rows(positions, 0),
        }


def _best(logits: Array, top_k: int) -> tuple[Array, Array]:
    """Logits (..., vocabulary) -> the ids of the most probable tokens, and their probabilities, both (..., top_k)."""
    logits = logits.astype("float64")
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    indices = np.argsort(-shares, axis=-1, kind="stable")[..., :top_k]
    return indices, np.take_along_axis(shares, indices, axis=-1)
