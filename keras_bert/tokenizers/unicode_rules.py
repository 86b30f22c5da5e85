"""How BERT's basic tokenizer normalizes and splits characters, asked of Hugging Face's `tokenizers`.

tensorflow-text and the tokenizers of apps get tables of the answers, so that all of them split text as this library
does, whatever versions of Unicode they have.
"""

import functools
from collections.abc import Mapping

from keras_bert.options.data import Lowercasing


def _code_points(ranges: str) -> frozenset[int]:
    """The code points of ranges in hexadecimal, ends included."""
    code_points: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        code_points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(code_points)


# Characters that tensorflow-text takes for punctuation, and the library for a part of a word, and the other way round:
# they have other versions of Unicode. `tests/golden/code_points.py` asks both for every code point; the answers are
# those of tensorflow-text 2.21.1 and `tokenizers` 0.23.3.
LATER_PUNCTUATION = _code_points(
    "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10f55-10f59 10f86-10f89 113d4-113d5 "
    "113d7-113d8 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c "
    "11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f "
    "16e97-16e9a 16fe2 1e5ff 1e95e-1e95f"
)
FORMER_PUNCTUATION = _code_points("166d 111c9")

# Private use characters, which are removed. The last two code points of a plane are no characters.
PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
# Ranges with the other characters that normalization may change, and with all punctuation. Left out: Chinese and Yi,
# Chinese of planes 2 and 3 (except compatibility characters), planes 4 to 13.
_SCANNED = (
    range(0x3400),
    range(0xA490, 0xD800),
    range(0xF900, 0x20000),
    range(0x2F800, 0x2FA20),
    range(0xE0000, 0xF0000),
)


def normalize(text: str, lowercase: Lowercasing) -> str:
    """Normalizes a text without surrogates before it is split into words.

    Control, format and private use characters, U+0000 and U+FFFD are removed, and white space becomes a blank. With
    `lowercase` other characters are decomposed (NFD), lose their nonspacing marks and are lowercased, in this order;
    where accents are kept, they are only lowercased.
    The blanks that BERT puts around Chinese characters are left out: these characters end a word anyway.
    """
    from tokenizers import normalizers

    options = {"handle_chinese_chars": False, "strip_accents": lowercase is True, "lowercase": bool(lowercase)}
    return str(normalizers.BertNormalizer(**options).normalize_str(text))


@functools.cache
def changed_characters(lowercase: Lowercasing) -> Mapping[int, str]:
    """The code points of the characters, except `PRIVATE`, that `normalize` changes, and what they become; rising."""
    codes = [code for span in _SCANNED for code in span if code != ord("|")]
    texts = normalize("|".join(map(chr, codes)), lowercase).split("|")
    return {code: text for code, text in zip(codes, texts, strict=True) if text != chr(code)}


@functools.cache
def punctuation() -> frozenset[int]:
    """The code points of the characters that are words of their own to BERT, except Chinese ones."""
    from tokenizers import pre_tokenizers

    text = "a".join(chr(code) for span in _SCANNED for code in span)
    words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)
    return frozenset(ord(word) for word, _ in words if len(word) == 1 and word != "a")
