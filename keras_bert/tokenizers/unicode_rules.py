"""The normalization of each character by BERT's basic tokenizer, exactly as in Hugging Face `tokenizers` 0.23.3.

That library mixes the Unicode versions of the crates it is built from: its general categories are older and its lower
case is newer than the Unicode 14.0 of Python 3.11's `unicodedata`. The constants are the differences. They come from
`tests/golden/code_points.py`, which asks the library for every code point.
"""

import unicodedata

from keras_bert.options.data import Lowercasing


def _code_points(ranges: str) -> frozenset[int]:
    """The code points of ranges in hexadecimal, ends included."""
    code_points: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        code_points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(code_points)


def _pairs(pairs: str) -> dict[int, int]:
    """Code point -> code point, of lines `first-last target of first`."""
    targets: dict[int, int] = {}
    for pair in pairs.split(","):
        sources, target = pair.split()
        for place, code_point in enumerate(sorted(_code_points(sources))):
            targets[code_point] = int(target, 16) + place
    return targets


# Format characters that are kept: they were unassigned.
LATER_FORMATS = _code_points("890-891 8e2 110cd 13430-13438")

# Nonspacing marks that are kept: they were unassigned, or of another category.
LATER_MARKS = _code_points(
    "7fd 898-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba 180f 1885-1886 1abf-1ace 1df6-1dfb a82c a8c5 a8ff "
    "a9bd 10d24-10d27 10eab-10eac 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf 1123e 1133b 11438-1143f "
    "11442-11444 11446 1145e 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a "
    "11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 11c30-11c36 11c38-11c3d 11c3f "
    "11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 "
    "11d97 11ef3-11ef4 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a "
    "1e130-1e136 1e2ae 1e2ec-1e2ef 1e944-1e94a"
)

# A spacing mark that is removed: it was a nonspacing one.
FORMER_MARKS = _code_points("1734")

# Characters that stay whole: their decomposition came later.
LATER_DECOMPOSITIONS = _code_points("11938")

# Letters whose lower case Python does not know yet.
LATER_LOWER_CASE = _pairs(
    "1c89 1c8a,a7cb 264,a7cc a7cd,a7ce a7cf,a7d2 a7d3,a7d4 a7d5,a7da a7db,a7dc 19b,10d50-10d65 10d70,16ea0-16eb8 16ebb"
)

# Punctuation up to Unicode 17 that is part of a word: it was unassigned.
LATER_PUNCTUATION = _code_points(
    "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10f55-10f59 10f86-10f89 113d4-113d5 "
    "113d7-113d8 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c "
    "11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f "
    "16e97-16e9a 16fe2 1e5ff 1e95e-1e95f"
)

# Punctuation that has become a symbol and a mark.
FORMER_PUNCTUATION = _code_points("166d 111c9")

# The categories of characters that `normalize` changes, besides letters and composed characters.
_CHANGING = frozenset(("Cc", "Cf", "Co", "Zs", "Zl", "Zp", "Mn"))
_DIFFERENT = FORMER_MARKS.union(LATER_LOWER_CASE)


def normalize(code_point: int, lowercase: Lowercasing) -> str:
    """Normalizes a character, no surrogate, before the text is split into words.

    Control, format and private use characters, U+0000 and U+FFFD are removed, and white space becomes a blank. With
    `lowercase` other characters are decomposed (NFD), lose their nonspacing marks and are lowercased, in this order;
    where accents are kept, they are only lowercased.
    The blanks that BERT puts around Chinese characters are left out: these characters end a word anyway.
    """
    character = chr(code_point)
    if character in "\t\n\r":
        return " "
    is_control = unicodedata.category(character) in ("Cc", "Cf", "Co") and code_point not in LATER_FORMATS
    if code_point in (0, 0xFFFD) or is_control:
        return ""
    if character.isspace():
        return " "
    if not lowercase:
        return character
    if lowercase == "keep_accents":
        return _lower(character)
    parts = character if code_point in LATER_DECOMPOSITIONS else unicodedata.normalize("NFD", character)
    return "".join(_lower(part) for part in parts if not _is_nonspacing(ord(part)))


def stays(code_points: range, lowercase: Lowercasing) -> bool:
    """Whether `normalize` changes none of some characters, checked at once; False may be wrong, True is never."""
    text = "".join(map(chr, code_points))
    if not _CHANGING.isdisjoint(map(unicodedata.category, text)) or chr(0xFFFD) in text:
        return False
    return not lowercase or (
        text.lower() == unicodedata.normalize("NFD", text) == text and _DIFFERENT.isdisjoint(code_points)
    )


def _is_nonspacing(code_point: int) -> bool:
    if unicodedata.category(chr(code_point)) == "Mn":
        return code_point not in LATER_MARKS
    return code_point in FORMER_MARKS


def _lower(character: str) -> str:
    later = LATER_LOWER_CASE.get(ord(character))
    return character.lower() if later is None else chr(later)
