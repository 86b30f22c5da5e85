"""The table of characters for the tokenizers of apps: how BERT's basic tokenizer normalizes and splits text.

Platforms have different versions of Unicode. With this table tokenizers do not use them, and split text everywhere as
here.
"""

import itertools
import unicodedata
from collections.abc import Sequence

from keras_bert.clients.subword_rules import ranges
from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.unicode_rules import FORMER_PUNCTUATION, LATER_PUNCTUATION, normalize, stays

# Decomposed by a formula (The Unicode Standard, section 3.12), which the apps' tokenizers contain.
_HANGUL = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)
# The last two code points of a plane are no characters; the tokenizer keeps them.
_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
# `_is_chinese_char` of google-research/bert; 2b820 to 2b91f are left out there, too.
_CHINESE = (
    *(range(0x4E00, 0xA000), range(0x3400, 0x4DC0), range(0x20000, 0x2A6E0), range(0x2A700, 0x2B740)),
    *(range(0x2B740, 0x2B820), range(0x2B920, 0x2CEB0), range(0xF900, 0xFB00), range(0x2F800, 0x2FA20)),
)
_ASCII_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_BLOCK = 64
# From here on there are private use characters, and characters that nobody has assigned.
_PLANE_15 = 0xF0000


def character_table(lowercase: Lowercasing) -> str:
    """Returns the content of `characters.txt`, for a WordPiece tokenizer.

    Lines of hexadecimal code points: `dropped FIRST LAST` for characters that are removed, `blank FIRST LAST` for
    characters that separate words, `replaced CODE CODE ...` for a character and its replacement, `syllables FIRST LAST`
    for Hangul syllables, which are decomposed into letters, and `isolated FIRST LAST` for characters that are words by
    themselves after these replacements.
    """
    dropped = {*_SURROGATES, *itertools.chain(*_PRIVATE)}
    blank, replaced = set(), []
    for block in (range(start, start + _BLOCK) for start in range(0, _PLANE_15, _BLOCK)):
        if block[0] in _SURROGATES or block[0] in _PRIVATE[0] or block[0] in _HANGUL or stays(block, lowercase):
            continue
        for code_point in block:
            text = normalize(code_point, lowercase)
            if not text:
                dropped.add(code_point)
            elif text == " ":
                blank.add(code_point)
            elif text != chr(code_point) and code_point not in _HANGUL:
                replaced.append((code_point, *map(ord, text)))
    isolated = {*itertools.chain(*_CHINESE), *filter(_is_punctuation, range(_PLANE_15))}
    kinds: dict[str, Sequence[tuple[int, ...]]] = {"dropped": ranges(dropped), "blank": ranges(blank)}
    kinds |= {"replaced": replaced, "isolated": ranges(isolated)}
    if lowercase is True:
        kinds["syllables"] = [(_HANGUL[0], _HANGUL[-1])]
    return "".join(
        f"{kind} {' '.join(f'{code:x}' for code in codes)}\n" for kind, rows in kinds.items() for codes in rows
    )


def _is_punctuation(code_point: int) -> bool:
    character = chr(code_point)
    if character in _ASCII_MARKS or code_point in FORMER_PUNCTUATION:
        return True
    return unicodedata.category(character).startswith("P") and code_point not in LATER_PUNCTUATION
