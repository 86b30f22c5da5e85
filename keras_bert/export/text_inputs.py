"""The tokenizer inside a file with text as input: it makes token ids, and offsets of words in the text."""

from typing import NamedTuple

import tensorflow as tf

from keras_bert.tasks.base import Places
from keras_bert.tokenizers.tokenizer import Tokenizer

STARTS, ENDS = "starts", "ends"


class TextInputs(NamedTuple):
    """The tokenizer and the signatures (names in `TEXT_SIGNATURES`) of a file with text as input.

    `places` are the units (`words` or `tokens`) with offsets among the outputs, or `none`.
    """

    tokenizer: Tokenizer
    signatures: tuple[str, ...]
    places: Places = "none"

    def rows(self, *texts: tf.Tensor, max_length: int) -> dict[str, tf.Tensor]:
        """Returns the model's inputs and, unless `places` is "none", `starts` and `ends`: each (1, max_length) int32.

        There are one or two texts, each (1,); longer texts are truncated.
        """
        if self.places == "none":
            rows = self.tokenizer.encode(*texts, max_length=max_length)
        else:
            rows = self.tokenizer.encode_with_offsets(*texts, max_length=max_length, whole_words=self.places == "words")
        # The tokenizer's operations lose the static shape of one row.
        return {name: tf.reshape(values, (1, max_length)) for name, values in rows.items()}
