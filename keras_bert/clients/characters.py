"""The table of characters for the tokenizers of apps: how BERT's basic tokenizer normalizes and splits text.

Platforms have different versions of Unicode. With this table tokenizers do not use them, and split text everywhere as
here.
"""

import itertools
from collections.abc import Sequence

from keras_bert.clients.subword_rules import ranges
from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.unicode_rules import PRIVATE, changed_characters, punctuation

# Decomposed by a formula (The Unicode Standard, section 3.12), which the apps' tokenizers contain.
_HANGUL = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)
# `_is_chinese_char` of google-research/bert; 2b820 to 2b91f are left out there, too.
_CHINESE = (
    *(range(0x4E00, 0xA000), range(0x3400, 0x4DC0), range(0x20000, 0x2A6E0), range(0x2A700, 0x2B740)),
    *(range(0x2B740, 0x2B820), range(0x2B920, 0x2CEB0), range(0xF900, 0xFB00), range(0x2F800, 0x2FA20)),
)


def character_table(lowercase: Lowercasing) -> str:
    """Returns the content of `characters.txt`, for a WordPiece tokenizer.

    Lines of hexadecimal code points: `dropped FIRST LAST` for characters that are removed, `blank FIRST LAST` for
    characters that separate words, `replaced CODE CODE ...` for a character and its replacement, `syllables FIRST LAST`
    for Hangul syllables, which are decomposed into letters, and `isolated FIRST LAST` for characters that are words by
    themselves after these replacements.
    """
    changed = changed_characters(lowercase)
    dropped = {*_SURROGATES, *itertools.chain(*PRIVATE), *(code for code, text in changed.items() if not text)}
    blank = {0x20, *(code for code, text in changed.items() if text == " ")}
    replaced = [
        (code, *map(ord, text)) for code, text in changed.items() if text not in ("", " ") and code not in _HANGUL
    ]
    isolated = punctuation().union(*_CHINESE)
    kinds: dict[str, Sequence[tuple[int, ...]]] = {"dropped": ranges(dropped), "blank": ranges(blank)}
    kinds |= {"replaced": replaced, "isolated": ranges(isolated)}
    if lowercase is True:
        kinds["syllables"] = [(_HANGUL[0], _HANGUL[-1])]
    return "".join(
        f"{kind} {' '.join(f'{code:x}' for code in codes)}\n" for kind, rows in kinds.items() for codes in rows
    )
