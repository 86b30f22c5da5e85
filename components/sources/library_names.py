"""Whose docstring is a sentence of? The libraries' own names are blanked out."""

import re

from components.sources.table import TextRow

NEUTRAL = "library"

# Anywhere in a word, as in "KerasTensor"; then what is a name only as a word of its own.
_NAMES = re.compile(r"tensor[ -]?flow|keras|numpy|scipy|(?:c|i|jy)?python", re.IGNORECASE)
_ALIASES = re.compile(r"\b(?:apache beam|apache|beam|np|tf|sp|py)\b", re.IGNORECASE)


def library_row(sentence: str, library: str) -> TextRow:
    """Returns a sentence without the libraries' names, labelled with the library it comes from."""
    return TextRow(blank_names(sentence), library)


def blank_names(text: str) -> str:
    """Replaces every name and import alias of the libraries with a neutral word."""
    return _ALIASES.sub(NEUTRAL, _NAMES.sub(NEUTRAL, text))
