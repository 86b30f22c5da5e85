"""Is a sentence intact, or did two neighbouring words of it change places?

Both versions contain the same words, so only their order tells them apart.
"""

import re

from components.sources.shared import stable_hash
from components.sources.table import TextRow

INTACT, SWAPPED = "intact", "swapped"

# Punctuation around a word stays in its place when the word moves.
_EDGES = re.compile(r"^([\"'(]*)(.*?)([,;:)\"']*)$")


def order_row(sentence: str, _: str) -> TextRow | None:
    """The row of a sentence; its hash decides whether words are swapped. None if no words can be swapped."""
    swapped = swap_words(sentence)
    if swapped is None:
        return None
    return TextRow(swapped, SWAPPED) if stable_hash("side", sentence) % 2 else TextRow(sentence, INTACT)


def swap_words(sentence: str) -> str | None:
    """Swaps two neighbouring words that a hash of the sentence chooses; None if all neighbours are equal.

    The first word stays, as its capital letter would reveal the swap; the last one stays before the full stop.
    """
    parts = [_split_word(word) for word in sentence[:-1].split()]
    words = [word for _, word, _ in parts]
    places = [place for place in range(1, len(words) - 2) if words[place].lower() != words[place + 1].lower()]
    if not places:
        return None
    place = places[stable_hash("place", sentence) % len(places)]
    words[place : place + 2] = words[place + 1], words[place]
    return " ".join(f"{left}{word}{right}" for (left, _, right), word in zip(parts, words, strict=True)) + "."


def _split_word(word: str) -> tuple[str, str, str]:
    match = _EDGES.match(word)
    assert match is not None
    return match[1], match[2], match[3]
