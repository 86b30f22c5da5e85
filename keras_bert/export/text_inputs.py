"""The tokenizer in front of the model in a file that takes text: token ids, and the places of words in the text."""

from typing import NamedTuple

import tensorflow as tf

from keras_bert.tasks.places import Places
from keras_bert.tokenizers.tokenizer import Tokenizer

STARTS, ENDS = "starts", "ends"


class TextInputs(NamedTuple):
    """How a file takes text.

    Attributes:
        tokenizer: the tokenizer.
        signatures: the names in `TEXT_SIGNATURES` that the file has.
        places: the units whose places in the text are outputs.
    """

    tokenizer: Tokenizer
    signatures: tuple[str, ...]
    places: Places = "none"

    def rows(self, *texts: tf.Tensor, max_length: int) -> dict[str, tf.Tensor]:
        """The model's inputs, and where places are told `starts` and `ends`, each (1, max_length) int32.

        Args:
            texts: one or two, each (1,).
            max_length: what is longer is cut.
        """
        if self.places == "none":
            rows = self.tokenizer.encode(*texts, max_length=max_length)
        else:
            whole_words = self.places == "words"
            rows = self.tokenizer.encode_with_offsets(*texts, max_length=max_length, whole_words=whole_words)
        # The static shape after the tokenizer's operations does not say that there is one row.
        return {name: tf.reshape(values, (1, max_length)) for name, values in rows.items()}
