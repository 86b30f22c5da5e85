"""Places in a text, for tasks that answer with a part of it."""

import unicodedata
from typing import Literal

Places = Literal["none", "words", "tokens"]
"""The character places that accompany a model's outputs in a file that takes text: of words, at the first token of
each; of the tokens of the last text; or none."""


def end_with_marks(text: str, end: int) -> int:
    """The end of a part of a text, moved behind the marks that belong to its last character.

    Marks are the characters of Unicode's category M: accents, vowel signs of Devanagari and Thai, variation selectors.
    A lowercasing tokenizer strips them, so that no token covers them. The page of `keras_bert.clients` has the same
    rule, `endWithMarks` in `answers.js`.
    """
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end
