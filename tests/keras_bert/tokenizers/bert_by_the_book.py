"""BERT's BasicTokenizer and WordpieceTokenizer (google-research/bert) in plain Python, one character after the other.

Only the punctuation of `keras_bert.tokenizers.unicode_rules` is shared with the code under test. Each character carries
its place in the text along, which gives the offsets.
"""

import unicodedata

from keras_bert.tokenizers.unicode_rules import FORMER_PUNCTUATION, LATER_PUNCTUATION
from tests.golden.unicode_rules import (
    FORMER_MARKS,
    LATER_DECOMPOSITIONS,
    LATER_FORMATS,
    LATER_LOWER_CASE,
    LATER_MARKS,
)

# `is_chinese_char` of Hugging Face tokenizers 0.23.3.
CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def tokenize(text, vocabulary, lowercase):
    """(id, start, end) of each piece."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    return [piece for word in split(text, lowercase) for piece in cut(word, ids)]


def split(text, lowercase):
    """The words, each a list of (character, its place in the text)."""
    characters = [(c, place) for place, c in enumerate(text) if c in "\t\n\r" or not is_removed(c)]
    characters = [(" " if c.isspace() else c, place) for c, place in characters]
    characters = [(part, place) for c, place in characters for part in (f" {c} " if is_chinese(c) else c)]
    if lowercase:
        characters = [(part, place) for c, place in characters for part in decompose(c) if not is_mark(part)]
        characters = [(part, place) for c, place in characters for part in lower(c)]
    words = [[]]
    for c, place in characters:
        if c == " ":
            words.append([])
        elif is_punctuation(c):
            words += [[(c, place)], []]
        else:
            words[-1].append((c, place))
    return [word for word in words if word]


def cut(word, ids):
    """The longest pieces from the left, or `[UNK]`."""
    unknown = [(ids["[UNK]"], word[0][1], word[-1][1] + 1)]
    if len(word) > 100:
        return unknown
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + "".join(c for c, _ in word[start:end])
            if piece in ids:
                break
        else:
            return unknown
        pieces.append((ids[piece], word[start][1], word[end - 1][1] + 1))
        start = end
    return pieces


def is_removed(c):
    later = ord(c) in LATER_FORMATS
    return c in "\0\ufffd" or (unicodedata.category(c) in ("Cc", "Cf", "Co") and not later)


def is_chinese(c):
    return any(first <= ord(c) <= last for first, last in CHINESE)


def decompose(c):
    return c if ord(c) in LATER_DECOMPOSITIONS else unicodedata.normalize("NFD", c)


def is_mark(c):
    return (unicodedata.category(c) == "Mn" and ord(c) not in LATER_MARKS) or ord(c) in FORMER_MARKS


def lower(c):
    return chr(LATER_LOWER_CASE[ord(c)]) if ord(c) in LATER_LOWER_CASE else c.lower()


def is_punctuation(c):
    if c.isascii():
        return 33 <= ord(c) <= 126 and not c.isalnum()
    punctuation = unicodedata.category(c).startswith("P") and ord(c) not in LATER_PUNCTUATION
    return punctuation or ord(c) in FORMER_PUNCTUATION
