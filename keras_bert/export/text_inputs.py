"""What stands in front of the model in a file that takes text: ids, and the places of words in the text."""

from typing import Literal, NamedTuple

import tensorflow as tf

from keras_bert.tokenizers.tokenizer import Tokenizer

# Whose places a file tells: of words, at the first piece of each, of the pieces of the last text, or none.
Places = Literal["none", "words", "pieces"]
STARTS, ENDS = "starts", "ends"


class TextInputs(NamedTuple):
    """How a file takes text.

    Attributes:
        tokenizer: makes the pieces.
        signatures: which of `TEXT_SIGNATURES` the file has.
        places: whose places it tells.
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
            found = self.tokenizer.encode(*texts, max_length=max_length)
        else:
            found = self.tokenizer.encode_with_offsets(*texts, max_length=max_length)
        if self.places == "words":
            found |= self._words(found)
        # The tokenizer's operations do not tell that there is one row.
        return {name: tf.reshape(values, (1, max_length)) for name, values in found.items()}

    def _words(self, rows: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The places of words in those of their first pieces, -1 in all others, each (1, length)."""
        continues = tf.gather(tf.constant(self.tokenizer.word_marks().astype("int32")), rows["token_ids"])
        inside = rows[STARTS] >= 0
        first = inside & (continues == 0)
        number = tf.cumsum(tf.cast(first, tf.int32), axis=1)
        same = inside[:, tf.newaxis] & (number[:, tf.newaxis] == number[:, :, tf.newaxis])
        ends = tf.reduce_max(tf.where(same, rows[ENDS][:, tf.newaxis], -1), axis=2)
        return {STARTS: tf.where(first, rows[STARTS], -1), ENDS: tf.where(first, ends, -1)}
