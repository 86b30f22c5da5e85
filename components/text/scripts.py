"""The scripts of a text, as a hint at its languages."""

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable

# Kanji, kana and Hangul have several first words in Unicode's names.
_NAMES = {"CJK": "Han", "IDEOGRAPHIC": "Han", "HALFWIDTH": "Katakana", "FULLWIDTH": "Latin"}


def count_scripts(texts: Iterable[str]) -> dict[str, float]:
    """The share of the letters of texts in each script, the largest first; empty for texts without letters.

    The script of a letter is the first word of its name in the Unicode Character Database, as `LATIN SMALL LETTER A`:
    the property Script, which Python does not have, is equal to it but for few letters.
    """
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    scripts: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            scripts[_script(character)] += count
    letters = scripts.total()
    return {script: count / letters for script, count in scripts.most_common()}


@functools.cache
def _script(character: str) -> str:
    word = unicodedata.name(character, "UNKNOWN").split(maxsplit=1)[0].partition("-")[0]
    return _NAMES.get(word, word.capitalize())
