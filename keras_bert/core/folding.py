"""A form of texts that does not depend on how they are written; every search for equal texts compares it."""

import unicodedata

# Default_Ignorable_Code_Point (Unicode Character Database): characters that are not shown, such as soft hyphens, byte
# order marks and variation selectors.
_IGNORABLE_RANGES = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
_IGNORABLE = frozenset(chr(code) for first, last in _IGNORABLE_RANGES for code in range(first, last + 1))
# What typesetting has for the apostrophe, quotation mark and hyphen of a keyboard.
_TYPOGRAPHIC = {
    "'": "\u02bc\u2018\u2019\u201b\u2032",
    '"': "\u201c\u201d\u201e\u201f",
    "-": "\u2010\u2012\u2013\u2014\u2015\u2212",
}


def fold(text: str) -> str:
    """`fold_characters`, and white space as single blanks."""
    return " ".join(fold_characters(text).split())


def fold_characters(text: str) -> str:
    """A form that is equal for texts which differ only in letter case or in their Unicode representation.

    These are composed and decomposed letters, compatibility forms, such as ligatures and full-width letters (caseless
    matching, definition D146 of the Unicode Standard, section 3.13), characters that are not shown, such as soft
    hyphens, and typographic apostrophes, quotation marks and dashes.
    """
    if text.isascii():
        return text.casefold()
    # Before normalization: such a character between a letter and its accent prevents their composition.
    for character in _IGNORABLE & set(text):
        text = text.replace(character, "")
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for plain, marks in _TYPOGRAPHIC.items():
        for mark in marks:
            text = text.replace(mark, plain)
    return text
